import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { at, textAt } from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import * as Line from "../src/blackbox/Line.ts"

/** Calls on lines on which the agent's voice comes back. */

const concurrent = { concurrent: true, timeout: 90_000 }

/** About 6 s of speech. */
const greeting = "Good morning, this is the office of Doctor Smith. We are open from nine to five. How may I help you?"

const paths = [0, 6, 12, 20, 28].flatMap((echo_db) =>
  [60, 120, 250, 400].map((echo_delay_ms) => ({ echo_db, echo_delay_ms }))
)

/** Calls begin one after the other: those of one instant would also speak, and search for their echoes, at one instant. */
const dialling = Effect.unsafeMakeSemaphore(1)

const turnsOf = (call: unknown): ReadonlyArray<string> => {
  const transcript = at(call, "transcript")
  return Array.isArray(transcript)
    ? transcript.map((turn: unknown) => `${textAt(turn, "role")}: ${textAt(turn, "content")}`)
    : []
}

layer(BlackBox.layer, { timeout: "90 seconds", excludeTestServices: true })("the agent's echo", (it) => {
  const dial = (leg: unknown) =>
    Effect.gen(function* () {
      const box = yield* BlackBox
      const script = { otherwise: "You said {{user}}.", providers: { leg } }
      const line = yield* Line.open(box, () => Line.configuration(script, { first_message: greeting }))
      const { callId, phone } = yield* dialling.withPermits(1)(
        Effect.tap(line.call, (call) => call.phone.catches("Good"))
      )
      const ended = Effect.gen(function* () {
        phone.hangup()
        return turnsOf(yield* CallRecords.settled(box.api, callId))
      })
      return { phone, ended }
    })

  for (const leg of [{}, ...paths]) {
    it.scoped(
      `of ${JSON.stringify(leg)} is not heard, and the caller is`,
      () =>
        Effect.gen(function* () {
          const { ended, phone } = yield* dial(leg)
          yield* phone.hears(greeting)
          yield* Effect.sleep("3 seconds")
          phone.say("One two")
          yield* phone.hears("You said One two.")
          yield* Effect.sleep("3 seconds")
          expect(yield* ended).toEqual([`assistant: ${greeting}`, "user: One two", "assistant: You said One two."])
        }),
      // The first calls of a process compile its code: they are not made at once.
      Object.keys(leg).length === 0 ? { timeout: 90_000 } : concurrent
    )
  }

  for (const leg of paths.filter(({ echo_db }) => echo_db === 6 || echo_db === 12)) {
    it.scoped(
      `of ${JSON.stringify(leg)} does not keep a caller from interrupting`,
      () =>
        Effect.gen(function* () {
          const { ended, phone } = yield* dial(leg)
          yield* Effect.sleep("3 seconds")
          phone.say("Stop now please")
          yield* phone.hears("You said Stop now please.")
          yield* Effect.sleep("1 second")
          const [first, ...rest] = yield* ended
          expect(rest).toEqual(["user: Stop now please", "assistant: You said Stop now please."])
          const said = first?.replace("assistant: ", "") ?? ""
          expect(greeting.startsWith(said) && said.length < greeting.length).toBe(true)
        }),
      concurrent
    )
  }
})
