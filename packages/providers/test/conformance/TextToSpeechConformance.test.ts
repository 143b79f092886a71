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
      "a turn without text completes when it is ended, and writes nothing",
      "declares voices with distinct names and at least one sample rate, and is healthy",
      "many cancelled turns leave no fibers, timers or sockets behind"
    ]
  },
  dies: {
    allBut: [
      "a turn without text completes when it is ended, and writes nothing",
      "declares voices with distinct names and at least one sample rate, and is healthy",
      "many cancelled turns leave no fibers, timers or sockets behind"
    ]
  },
  hangs: {
    allBut: [
      "a turn without text completes when it is ended, and writes nothing",
      "declares voices with distinct names and at least one sample rate, and is healthy",
      "a turn can be cancelled when the peer hangs"
    ]
  },
  fails: {
    allBut: [
      "a turn without text completes when it is ended, and writes nothing",
      "declares voices with distinct names and at least one sample rate, and is healthy",
      "a turn speaks or fails with TextToSpeechError for an unknown voice",
      "many cancelled turns leave no fibers, timers or sockets behind",
      "a turn fails with TextToSpeechError when the peer refuses",
      "a turn can be cancelled when the peer hangs",
      "a turn fails with TextToSpeechError when the peer closes the connection early",
      "a turn fails with TextToSpeechError when the peer sends malformed data"
    ]
  },
  "writes after interruption": [
    "a turn stops when it is cancelled and writes nothing afterwards",
    "a turn can be cancelled while the sink is full",
    "a turn can be cancelled when the peer hangs"
  ],
  "ignores interruption": [
    "a turn stops when it is cancelled and writes nothing afterwards",
    "a turn can be cancelled while the sink is full",
    "many cancelled turns leave no fibers, timers or sockets behind",
    "a turn can be cancelled when the peer hangs"
  ],
  "ignores a full sink": ["a turn does not write while the sink is full, and continues when it has room"],
  "never continues after a full sink": ["a turn does not write while the sink is full, and continues when it has room"],
  "completes before all audio is written": {
    allBut: [
      "a turn without text completes when it is ended, and writes nothing",
      "declares voices with distinct names and at least one sample rate, and is healthy",
      "a turn completes for an empty text",
      "a turn aligns in ascending order, within its text and its audio",
      "a turn can be cancelled while the sink is full",
      "a turn speaks or fails with TextToSpeechError for an unknown voice",
      "a turn can be cancelled when the peer hangs"
    ]
  },
  "reorders audio": [
    "a turn speaks a text in about the same time at every declared sample rate",
    "a turn writes all audio before it completes, and nothing afterwards",
    "a turn speaks its texts one after the other, and completes only when it is ended",
    "two concurrent turns stay separate"
  ],
  "mixes requests": ["two concurrent turns stay separate"],
  "writes nothing at 16 kHz": ["a turn speaks a text in about the same time at every declared sample rate"],
  "hangs on empty text": ["a turn completes for an empty text"],
  "aligns backwards": ["a turn aligns in ascending order, within its text and its audio"],
  "aligns beyond the audio": ["a turn aligns in ascending order, within its text and its audio"],
  "aligns beyond the text": ["a turn aligns in ascending order, within its text and its audio"],
  "forgets later texts": ["a turn speaks its texts one after the other, and completes only when it is ended"],
  "is done before it is ended": ["a turn speaks its texts one after the other, and completes only when it is ended"],
  "writes without text": ["a turn without text completes when it is ended, and writes nothing"],
  "never ends without text": ["a turn without text completes when it is ended, and writes nothing"],
  "dies on an unknown voice": ["a turn speaks or fails with TextToSpeechError for an unknown voice"],
  "has a voice without audio": ["a turn writes audio with each of the first five voices"],
  "leaks fibers": ["many cancelled turns leave no fibers, timers or sockets behind"],
  "completes although the peer failed": [
    "a turn fails with TextToSpeechError when the peer closes the connection early",
    "a turn fails with TextToSpeechError when the peer sends malformed data"
  ],
  "hangs when the peer fails": [
    "a turn fails with TextToSpeechError when the peer closes the connection early",
    "a turn fails with TextToSpeechError when the peer sends malformed data"
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
