import { describe, expect, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import type { TextToSpeech } from "../TextToSpeech.ts"
import type { EmulatedBehaviour, EmulatedPeer } from "./EmulatedServer.ts"
import { spelledIn } from "./SpelledSound.ts"
import { textToSpeechChecks } from "./TextToSpeechChecks.ts"
import { textToSpeechSuite } from "./TextToSpeechSuite.ts"

type Connection = (peer: EmulatedPeer) => Effect.Effect<void>

/** Registers the checks of a vendor that streams speech over a WebSocket, with its emulated server. */
export const streamedSpeechSuite = (given: {
  readonly name: string
  /** The plugin with a server of its own, whose connections behave so. */
  readonly speechOf: (
    connection: Connection,
    behaviour?: Pick<EmulatedBehaviour, "upgrade">
  ) => Layer.Layer<TextToSpeech>
  /** The server's usual behaviour. `before` each answer; false: there is none. */
  readonly speaks: (manner?: { readonly before?: (peer: EmulatedPeer) => Effect.Effect<boolean> }) => Connection
}): void => {
  const { name, speaks, speechOf } = given
  textToSpeechSuite({
    name,
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
}

/** Registers the check that a thousand turns leave nothing behind. */
export const leaksOfSpeech = (layer: Layer.Layer<TextToSpeech>): void => {
  const leaks = textToSpeechChecks({ layer, sessions: 1000 }).filter(({ name }) =>
    name.includes("leave no fibers, timers or sockets behind")
  )

  describe("a thousand turns", () => {
    it("have a check", () => expect(leaks).toHaveLength(1))

    for (const { effect, name } of leaks) it.live(name, () => effect, 120_000)
  })
}
