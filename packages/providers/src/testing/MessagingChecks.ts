import { Effect, Fiber, Queue, Stream } from "effect"
import type { IncomingSms, Messaging, OutgoingSms } from "../Messaging.ts"
import { type Check, must, mustSucceed } from "./Check.ts"
import type { TelephonyCheckOptions, TelephonyHarness } from "./TelephonyHarness.ts"

/** The requirements on the text messages of a telephone network. They pass when it has no `sms`. */
export const messagingChecks = (
  { check, eventually, mustFail, numbers, quiet, within }: TelephonyHarness,
  options: TelephonyCheckOptions
): ReadonlyArray<Check> => {
  /** A message from the platform to the phone. */
  const sms = (id: string, more: Partial<OutgoingSms> = {}): OutgoingSms => ({
    id,
    to: numbers.from,
    from: numbers.to,
    sender_type: "number",
    message: `Message ${id}: Grüße, 10 € 👍`,
    ...more
  })
  const send = (messaging: Messaging, message: OutgoingSms) =>
    within(
      "send",
      Effect.suspend(() => messaging.send(message))
    ).pipe(mustSucceed("send"))
  const summary = ({ from, message, to }: Pick<OutgoingSms, "from" | "to" | "message">) => `${from} ${to} ${message}`

  return [
    check("send delivers each text message once and unchanged if sms is provided", ({ phone, ring, telephony }) =>
      Effect.gen(function* () {
        const { sms: messaging } = telephony
        if (messaging === undefined) return
        // Some networks know a phone only after it has called.
        yield* ring
        const received = phone.messages
        if (received === undefined) return yield* must(false, "sms is provided; give the phone `messages`")
        const all = [
          ...Array.from({ length: 20 }, (_, n) => sms(`m${n}`)),
          sms("named", { from: "Conformance".slice(0, 11), sender_type: "alphanumeric" })
        ]
        yield* Effect.forEach(all, (message) => send(messaging, message), { concurrency: "unbounded", discard: true })
        yield* eventually("the delivery of all messages to the phone", () => received().length >= all.length)
        yield* quiet
        const got = received().map(summary).sort().join("\n")
        yield* must(got === all.map(summary).sort().join("\n"), `the phone received ${got}`)
      })
    ),
    check(
      "send delivers a text message that is sent again once if deliversOnce is declared",
      ({ phone, ring, telephony }) =>
        Effect.gen(function* () {
          const { sms: messaging } = telephony
          if (messaging?.deliversOnce !== true) return
          yield* ring
          const received = phone.messages
          if (received === undefined) return yield* must(false, "sms is provided; give the phone `messages`")
          const again = sms("again")
          // The platform sends again when it lost the answer, which is when it was interrupted.
          for (const wait of [Effect.void, Effect.yieldNow(), Effect.sleep(20)]) {
            const fiber = yield* Effect.fork(Effect.suspend(() => messaging.send(again)))
            yield* wait
            yield* within("interrupting send", Fiber.interrupt(fiber))
          }
          const answers = [
            yield* send(messaging, again),
            ...(yield* Effect.replicateEffect(send(messaging, again), 5, { concurrency: "unbounded" }))
          ]
          const ids = new Set(answers.map(({ provider_message_id }) => provider_message_id))
          yield* must(ids.size === 1, `the same message got the ids ${[...ids].join(", ")}`)
          yield* eventually("the delivery of the message to the phone", () => received().length > 0)
          yield* quiet
          yield* must(received().length === 1, `the phone received the message ${received().length} times`)
        })
    ),
    check("send fails with SmsFailed when the network refuses the text message", ({ telephony }) =>
      Effect.gen(function* () {
        const { sms: messaging } = telephony
        if (messaging === undefined || options.refusesSms === undefined) return
        const refused = sms("refused", { to: options.refusesSms })
        const send = Effect.suspend(() => messaging.send(refused))
        yield* mustFail("send", send, (error) => error._tag === "SmsFailed")
      })
    ),
    check("incoming emits the phone's text messages in order", ({ phone, telephony }) =>
      Effect.gen(function* () {
        const { sms: messaging } = telephony
        const { text } = phone
        if (messaging === undefined || text === undefined) return
        const arrived = yield* Queue.unbounded<IncomingSms>()
        yield* Effect.forkScoped(Stream.runForEach(messaging.incoming, (one) => Queue.offer(arrived, one)))
        const all = ["one", "two", "three"].map((message) => ({ from: numbers.from, to: numbers.to, message }))
        yield* Effect.forEach(all, text, { discard: true })
        const got = yield* within("the messages", Effect.replicateEffect(Queue.take(arrived), all.length))
        yield* must(
          got.map(summary).join("\n") === all.map(summary).join("\n"),
          `incoming emitted ${got.map(summary).join(", ")}`
        )
      })
    )
  ]
}
