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
    closesEarly: referenceTextToSpeech(bug, "fails"),
    sendsGarbage: referenceTextToSpeech(bug, "fails")
  }
})

textToSpeechSuite({ name: "a correct text-to-speech provider", time: "virtual", ...options(undefined, 1000) })

const expected: { readonly [B in TextToSpeechBug]: Expected } = {
  throws: {
    allBut: [
      "declares voices with distinct names and at least one sample rate, and is healthy",
      "many interrupted requests leave no fibers, timers or sockets behind"
    ]
  },
  dies: {
    allBut: [
      "declares voices with distinct names and at least one sample rate, and is healthy",
      "many interrupted requests leave no fibers, timers or sockets behind"
    ]
  },
  hangs: {
    allBut: [
      "declares voices with distinct names and at least one sample rate, and is healthy",
      "synthesize can be interrupted when the peer hangs"
    ]
  },
  fails: {
    allBut: [
      "declares voices with distinct names and at least one sample rate, and is healthy",
      "synthesize speaks or fails with TextToSpeechError for an unknown voice",
      "many interrupted requests leave no fibers, timers or sockets behind",
      "synthesize fails with TextToSpeechError when the peer refuses",
      "synthesize can be interrupted when the peer hangs",
      "synthesize fails with TextToSpeechError when the peer closes the connection early",
      "synthesize fails with TextToSpeechError when the peer sends malformed data"
    ]
  },
  "writes after interruption": [
    "synthesize stops when it is interrupted and writes nothing afterwards",
    "synthesize can be interrupted while the sink is full",
    "synthesize can be interrupted when the peer hangs"
  ],
  "ignores interruption": [
    "synthesize stops when it is interrupted and writes nothing afterwards",
    "synthesize can be interrupted while the sink is full",
    "many interrupted requests leave no fibers, timers or sockets behind",
    "synthesize can be interrupted when the peer hangs"
  ],
  "ignores a full sink": ["synthesize does not write while the sink is full, and continues when it has room"],
  "never continues after a full sink": [
    "synthesize does not write while the sink is full, and continues when it has room"
  ],
  "completes before all audio is written": {
    allBut: [
      "declares voices with distinct names and at least one sample rate, and is healthy",
      "synthesize completes for an empty text",
      "synthesize calls align in ascending order and within the text",
      "synthesize can be interrupted while the sink is full",
      "synthesize speaks or fails with TextToSpeechError for an unknown voice",
      "synthesize can be interrupted when the peer hangs"
    ]
  },
  "reorders audio": [
    "synthesize speaks a text in about the same time at every declared sample rate",
    "synthesize writes all audio before it completes, and nothing afterwards",
    "synthesize keeps two concurrent requests separate"
  ],
  "mixes requests": ["synthesize keeps two concurrent requests separate"],
  "writes nothing at 16 kHz": ["synthesize speaks a text in about the same time at every declared sample rate"],
  "hangs on empty text": ["synthesize completes for an empty text"],
  "aligns backwards": ["synthesize calls align in ascending order and within the text"],
  "aligns beyond the text": ["synthesize calls align in ascending order and within the text"],
  "dies on an unknown voice": ["synthesize speaks or fails with TextToSpeechError for an unknown voice"],
  "has a voice without audio": ["synthesize writes audio with each of the first five voices"],
  "leaks fibers": ["many interrupted requests leave no fibers, timers or sockets behind"],
  "completes although the peer failed": [
    "synthesize fails with TextToSpeechError when the peer closes the connection early",
    "synthesize fails with TextToSpeechError when the peer sends malformed data"
  ],
  "hangs when the peer fails": [
    "synthesize fails with TextToSpeechError when the peer closes the connection early",
    "synthesize fails with TextToSpeechError when the peer sends malformed data"
  ],
  "declares a voice twice": ["declares voices with distinct names and at least one sample rate, and is healthy"]
}

describe("a text-to-speech provider that", () => {
  for (const [bug, names] of Object.entries(expected) as ReadonlyArray<[TextToSpeechBug, Expected]>) {
    it.effect(`"${bug}" fails its checks`, () =>
      Effect.gen(function* () {
        const checks = textToSpeechChecks(options(bug))
        expect(yield* failing(checks)).toEqual(namesOf(names, checks))
      })
    )
  }
})
