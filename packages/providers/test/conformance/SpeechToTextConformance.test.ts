import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { afterAll, describe } from "vitest"
import type { SpeechToText } from "../../src/SpeechToText.ts"
import { type SpeechToTextCheckOptions, speechToTextChecks } from "../../src/testing/SpeechToTextChecks.ts"
import { speechToTextSuite } from "../../src/testing/SpeechToTextSuite.ts"
import { type Expected, failing, namesOf } from "./Failing.ts"
import {
  heldAtPeer,
  leakedTimers,
  pauseFrames,
  referenceSpeechToText,
  type SpeechToTextBug,
  speak
} from "./ReferenceSpeechToText.ts"

const options = (bug?: SpeechToTextBug, sessions = 60): SpeechToTextCheckOptions => ({
  layer: Layer.suspend(() => referenceSpeechToText(bug)),
  speak,
  pauseFrames,
  sessions,
  openAtPeer: Effect.sync(() => heldAtPeer.count),
  faults: {
    refuses: referenceSpeechToText(bug, "refuses"),
    hangs: referenceSpeechToText(bug, "hangs"),
    closesEarly: referenceSpeechToText(bug, "fails"),
    sendsGarbage: referenceSpeechToText(bug, "fails")
  } satisfies { readonly [fault: string]: Layer.Layer<SpeechToText> }
})

speechToTextSuite({ name: "a correct speech-to-text provider", time: "virtual", ...options(undefined, 1000) })

afterAll(() => {
  for (const timer of leakedTimers) clearInterval(timer)
})

const expected: { readonly [B in SpeechToTextBug]: Expected } = {
  "hangs on open": {
    allBut: [
      "declares at least one language and one sample rate, and is healthy",
      "open and finish can be interrupted when the peer hangs"
    ]
  },
  "throws on open": { allBut: ["declares at least one language and one sample rate, and is healthy"] },
  "ignores the interruption of open": {
    allBut: ["declares at least one language and one sample rate, and is healthy"]
  },
  "is unhealthy": ["declares at least one language and one sample rate, and is healthy"],
  "transcribes nothing at 16 kHz": ["transcribes speech at every declared sample rate"],
  "reorders words": [
    "transcribes speech at every declared sample rate",
    "emits the words of each utterance once and in order",
    "emits the rest of the transcript before finish completes, and nothing afterwards",
    "makes words final when it is asked to, if it can",
    "goes on after a change of its keyterms and language, or says that it cannot",
    "emits EndOfTurn after the words of a turn if and only if it declares endpointing",
    "push does not keep a reference to the frame",
    "keeps two concurrent sessions separate"
  ],
  "repeats words": ["emits the words of each utterance once and in order", "keeps two concurrent sessions separate"],
  "emits its confidence in percent": ["emits the words of each utterance once and in order"],
  "loses the rest of the transcript": [
    "emits the rest of the transcript before finish completes, and nothing afterwards",
    "goes on after a change of its keyterms and language, or says that it cannot"
  ],
  "emits the rest of the transcript after finish": [
    "emits the rest of the transcript before finish completes, and nothing afterwards",
    "goes on after a change of its keyterms and language, or says that it cannot",
    "keeps two concurrent sessions separate"
  ],
  "never finishes": [
    "emits the words of each utterance once and in order",
    "emits the rest of the transcript before finish completes, and nothing afterwards",
    "goes on after a change of its keyterms and language, or says that it cannot",
    "push accepts empty, odd-sized and late frames without throwing",
    "keeps two concurrent sessions separate",
    "a session emits Failed once or continues when the peer closes the connection early",
    "a session emits Failed once or continues when the peer sends malformed data"
  ],
  "emits no EndOfTurn": ["emits EndOfTurn after the words of a turn if and only if it declares endpointing"],
  "emits EndOfTurn without declaring endpointing": [
    "emits EndOfTurn after the words of a turn if and only if it declares endpointing"
  ],
  "emits EndOfTurn before the words": [
    "emits EndOfTurn after the words of a turn if and only if it declares endpointing"
  ],
  "keeps a reference to frames": [
    "emits the rest of the transcript before finish completes, and nothing afterwards",
    "makes words final when it is asked to, if it can",
    "goes on after a change of its keyterms and language, or says that it cannot",
    "push does not keep a reference to the frame"
  ],
  "throws on odd frames": ["push accepts empty, odd-sized and late frames without throwing"],
  "throws after its scope was closed": [
    "push accepts empty, odd-sized and late frames without throwing",
    "emits no event after the session's scope was closed"
  ],
  "emits after its scope was closed": [
    "emits no event after the session's scope was closed",
    "many sessions leave no fibers, timers or sockets behind"
  ],
  "ignores flush": ["makes words final when it is asked to, if it can"],
  "throws on update": ["goes on after a change of its keyterms and language, or says that it cannot"],
  "stops after update": ["goes on after a change of its keyterms and language, or says that it cannot"],
  "withdraws an end that it did not announce": ["emits the words of each utterance once and in order"],
  "ends a turn with other words than announced": ["emits the words of each utterance once and in order"],
  "has words beyond the audio": ["emits the words of each utterance once and in order"],
  "ends a final beyond the audio": ["emits the words of each utterance once and in order"],
  "mixes sessions": ["keeps two concurrent sessions separate"],
  "leaks fibers": ["many sessions leave no fibers, timers or sockets behind"],
  "leaks timers": ["many sessions leave no fibers, timers or sockets behind"],
  "leaks at the peer": ["many sessions leave no fibers, timers or sockets behind"],
  "emits Failed twice": [
    "a session emits Failed once or continues when the peer closes the connection early",
    "a session emits Failed once or continues when the peer sends malformed data"
  ],
  "does not emit Failed": [
    "a session emits Failed once or continues when the peer closes the connection early",
    "a session emits Failed once or continues when the peer sends malformed data"
  ]
}

describe("a speech-to-text provider that", () => {
  for (const [bug, names] of Object.entries(expected) as ReadonlyArray<[SpeechToTextBug, Expected]>) {
    it.effect(`"${bug}" fails its checks`, () =>
      Effect.gen(function* () {
        const checks = speechToTextChecks(options(bug))
        expect(yield* failing(checks)).toEqual(namesOf(names, checks))
      })
    )
  }
})
