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
    closesEarly: referenceSpeechToText(bug, "breaks"),
    sendsGarbage: referenceSpeechToText(bug, "breaks")
  } satisfies { readonly [fault: string]: Layer.Layer<SpeechToText> }
})

speechToTextSuite({ name: "a correct speech-to-text provider", time: "virtual", ...options(undefined, 1000) })

afterAll(() => {
  for (const timer of leakedTimers) clearInterval(timer)
})

const expected: { readonly [B in SpeechToTextBug]: Expected } = {
  "hangs on open": {
    allBut: ["declares languages and sample rates", "peer hangs: opening and finishing can be interrupted"]
  },
  "throws on open": { allBut: ["declares languages and sample rates"] },
  "open ignores interruption": { allBut: ["declares languages and sample rates"] },
  unhealthy: ["declares languages and sample rates"],
  "deaf at 16 kHz": ["hears at every sample rate that it declares"],
  reorders: [
    "hears at every sample rate that it declares",
    "tells what was said in order, each utterance once",
    "gives the last words before finish completes",
    "tells the end of a turn after its words, if and only if it says that it does",
    "does not keep the frames that it is given",
    "keeps sessions apart"
  ],
  repeats: ["tells what was said in order, each utterance once", "keeps sessions apart"],
  "confidence in percent": ["tells what was said in order, each utterance once"],
  "loses the last words": ["gives the last words before finish completes"],
  "finishes late": ["gives the last words before finish completes", "keeps sessions apart"],
  "never finishes": [
    "tells what was said in order, each utterance once",
    "gives the last words before finish completes",
    "takes every frame without throwing, also empty, odd and late ones",
    "keeps sessions apart",
    "peer closes early: tells Failed once, or goes on hearing",
    "peer sends garbage: tells Failed once, or goes on hearing"
  ],
  "no end of turn": ["tells the end of a turn after its words, if and only if it says that it does"],
  "undeclared end of turn": ["tells the end of a turn after its words, if and only if it says that it does"],
  "end of turn first": ["tells the end of a turn after its words, if and only if it says that it does"],
  "keeps frames": ["gives the last words before finish completes", "does not keep the frames that it is given"],
  "throws on odd frames": ["takes every frame without throwing, also empty, odd and late ones"],
  "throws after close": [
    "takes every frame without throwing, also empty, odd and late ones",
    "tells nothing after its scope is closed"
  ],
  "tells after close": ["tells nothing after its scope is closed", "leaves nothing behind after many sessions"],
  "mixes sessions": ["keeps sessions apart"],
  "leaks fibers": ["leaves nothing behind after many sessions"],
  "leaks timers": ["leaves nothing behind after many sessions"],
  "leaks at the peer": ["leaves nothing behind after many sessions"],
  "fails twice": [
    "peer closes early: tells Failed once, or goes on hearing",
    "peer sends garbage: tells Failed once, or goes on hearing"
  ],
  "silent about failure": [
    "peer closes early: tells Failed once, or goes on hearing",
    "peer sends garbage: tells Failed once, or goes on hearing"
  ]
}

describe("a speech-to-text provider that", () => {
  for (const [bug, names] of Object.entries(expected) as ReadonlyArray<[SpeechToTextBug, Expected]>) {
    it.effect(`"${bug}" is found out`, () =>
      Effect.gen(function* () {
        const checks = speechToTextChecks(options(bug))
        expect(yield* failing(checks)).toEqual(namesOf(names, checks))
      })
    )
  }
})
