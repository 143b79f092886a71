import { spelledIn } from "@svc/providers/testing/SpelledSound"
import { textToSpeechSuite } from "@svc/providers/testing/TextToSpeechSuite"
import { Effect } from "effect"
import { speaks } from "../src/testing/EmulatedCartesia.ts"
import { speechOf } from "./Provided.ts"

textToSpeechSuite({
  name: "Cartesia",
  layer: speechOf(speaks()),
  hear: (samples, sampleRate) => Effect.sync(() => spelledIn(samples, sampleRate)),
  sessions: 200,
  faults: {
    refuses: speechOf(speaks(), { upgrade: () => ({ status: 500, body: "no" }) }),
    hangs: speechOf(() => Effect.never),
    closesEarly: speechOf(
      speaks({
        before: (peer) =>
          Effect.sync(() => {
            peer.breakOff()
            return false
          })
      })
    ),
    sendsGarbage: speechOf((peer) =>
      Effect.zipRight(
        peer.next,
        Effect.sync(() => peer.send("<html>"))
      )
    )
  }
})
