import { Effect, Queue, Stream } from "effect"
import type { IncomingSms, Messaging, OutgoingSms } from "../Messaging.ts"
import { type Check, CheckFailed, must } from "./Check.ts"
import type { TelephonyBench, TelephonyCheckOptions } from "./TelephonyBench.ts"

/** What a telephone network must do with text messages, if it says that it has any. */
export const messagingChecks = (
  { check, eventually, numbers, quiet, within }: TelephonyBench,
  options: TelephonyCheckOptions
): ReadonlyArray<Check> => {
  /** One to the phone; `from` is ours. */
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
      "sending a message",
      Effect.suspend(() => messaging.send(message))
    ).pipe(
      Effect.mapError((error) =>
        error instanceof CheckFailed ? error : new CheckFailed({ reason: `the message failed: ${error.reason}` })
      )
    )
  const told = ({ from, message, to }: Pick<OutgoingSms, "from" | "to" | "message">) => `${from} ${to} ${message}`

  return [
    check(
      "brings messages to the phone, each once and unchanged, if it says that it sends them",
      ({ phone, ring, telephony }) =>
        Effect.gen(function* () {
          const { sms: messaging } = telephony
          if (messaging === undefined) return
          // On some networks a phone is known by its calls.
          yield* ring
          const received = phone.messages
          if (received === undefined) return yield* must(false, "the phone of this suite does not tell its messages")
          const all = [
            ...Array.from({ length: 20 }, (_, n) => sms(`m${n}`)),
            sms("named", { from: "Conformance".slice(0, 11), sender_type: "alphanumeric" })
          ]
          yield* Effect.forEach(all, (message) => send(messaging, message), { concurrency: "unbounded", discard: true })
          yield* eventually("the messages on the phone", () => received().length >= all.length)
          yield* quiet
          const got = received().map(told).sort().join("\n")
          yield* must(got === all.map(told).sort().join("\n"), `the phone got ${got}`)
        })
    ),
    check("fails a message that the network refuses, with SmsFailed", ({ telephony }) =>
      Effect.gen(function* () {
        const { sms: messaging } = telephony
        if (messaging === undefined || options.refusesSms === undefined) return
        const refused = sms("refused", { to: options.refusesSms })
        const failure = yield* within("a refusal", Effect.either(Effect.suspend(() => messaging.send(refused))))
        yield* must(failure._tag === "Left", "it told that the message was sent")
      })
    ),
    check("brings messages of the phone in, in order", ({ phone, telephony }) =>
      Effect.gen(function* () {
        const { sms: messaging } = telephony
        const { text } = phone
        if (messaging === undefined || text === undefined) return
        const arrived = yield* Queue.unbounded<IncomingSms>()
        yield* Effect.forkScoped(Stream.runForEach(messaging.incoming, (one) => Queue.offer(arrived, one)))
        const all = ["one", "two", "three"].map((message) => ({ from: numbers.from, to: numbers.to, message }))
        yield* Effect.forEach(all, text, { discard: true })
        const got = yield* within("the messages", Effect.replicateEffect(Queue.take(arrived), all.length))
        yield* must(got.map(told).join("\n") === all.map(told).join("\n"), `it brought ${got.map(told).join(", ")}`)
      })
    )
  ]
}
