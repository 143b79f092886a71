import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { describe } from "vitest"
import { type TextToSpeechCheckOptions, textToSpeechChecks } from "../../src/testing/TextToSpeechChecks.ts"
import { textToSpeechSuite } from "../../src/testing/TextToSpeechSuite.ts"
import { type Expected, failing, namesOf } from "./Failing.ts"
import { hear, referenceTextToSpeech, type TextToSpeechBug } from "./ReferenceTextToSpeech.ts"

const options = (bug?: TextToSpeechBug, sessions = 60): TextToSpeechCheckOptions => ({
  layer: Layer.suspend(() => referenceTextToSpeech(bug)),
  hear,
  sessions,
  faults: {
    refuses: referenceTextToSpeech(bug, "refuses"),
    hangs: referenceTextToSpeech(bug, "hangs"),
    closesEarly: referenceTextToSpeech(bug, "breaks"),
    sendsGarbage: referenceTextToSpeech(bug, "breaks")
  }
})

textToSpeechSuite({ name: "a correct text-to-speech provider", time: "virtual", ...options(undefined, 1000) })

const expected: { readonly [B in TextToSpeechBug]: Expected } = {
  throws: { allBut: ["declares voices and sample rates", "leaves nothing behind after many passages"] },
  dies: { allBut: ["declares voices and sample rates", "leaves nothing behind after many passages"] },
  hangs: { allBut: ["declares voices and sample rates", "peer hangs: can be interrupted"] },
  fails: {
    allBut: [
      "declares voices and sample rates",
      "answers an unknown voice with speech or a typed error",
      "leaves nothing behind after many passages",
      "peer refuses: fails with a typed error",
      "peer hangs: can be interrupted",
      "peer closes early: fails with a typed error",
      "peer sends garbage: fails with a typed error"
    ]
  },
  "writes after interruption": [
    "writes nothing after it was interrupted",
    "can be interrupted while it waits for room",
    "peer hangs: can be interrupted"
  ],
  "ignores interruption": [
    "writes nothing after it was interrupted",
    "can be interrupted while it waits for room",
    "leaves nothing behind after many passages",
    "peer hangs: can be interrupted"
  ],
  "ignores a full sink": ["stops writing while the sink is full, and goes on when there is room"],
  "never goes on after a full sink": ["stops writing while the sink is full, and goes on when there is room"],
  "completes early": {
    allBut: [
      "declares voices and sample rates",
      "completes for a text with nothing to say",
      "tells alignments in order, within the text",
      "can be interrupted while it waits for room",
      "answers an unknown voice with speech or a typed error",
      "peer hangs: can be interrupted"
    ]
  },
  reorders: [
    "speaks at every sample rate that it declares, equally long",
    "writes all the audio before it completes, and none after",
    "keeps two passages at once apart"
  ],
  "mixes passages": ["keeps two passages at once apart"],
  "silent at 16 kHz": ["speaks at every sample rate that it declares, equally long"],
  "hangs on empty text": ["completes for a text with nothing to say"],
  "aligns backwards": ["tells alignments in order, within the text"],
  "aligns beyond the text": ["tells alignments in order, within the text"],
  "dies of an unknown voice": ["answers an unknown voice with speech or a typed error"],
  "silent voice": ["speaks with its voices"],
  "leaks fibers": ["leaves nothing behind after many passages"],
  "completes though the peer broke": [
    "peer closes early: fails with a typed error",
    "peer sends garbage: fails with a typed error"
  ],
  "hangs when the peer broke": [
    "peer closes early: fails with a typed error",
    "peer sends garbage: fails with a typed error"
  ],
  "same name twice": ["declares voices and sample rates"]
}

describe("a text-to-speech provider that", () => {
  for (const [bug, names] of Object.entries(expected) as ReadonlyArray<[TextToSpeechBug, Expected]>) {
    it.effect(`"${bug}" is found out`, () =>
      Effect.gen(function* () {
        const checks = textToSpeechChecks(options(bug))
        expect(yield* failing(checks)).toEqual(namesOf(names, checks))
      })
    )
  }
})
