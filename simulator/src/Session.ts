import {
  Clock,
  Context,
  Duration,
  Effect,
  Fiber,
  Layer,
  Option,
  Queue,
  Schedule,
  Stream,
  SubscriptionRef
} from "effect"
import { type NotConnected, Phone } from "./Phone.ts"
import { Action, type CallView, type Input, inCall, initial, Knowledge, type PhoneState, reduce } from "./PhoneState.ts"
import { type ApiFailure, VoiceClient } from "./VoiceClient.ts"

/** After a call has ended its record is read until the server has settled it, at most this long. */
const settleTimeout = Duration.seconds(10)
/** And a call that ended before it had an id is looked for this long: it may have none. */
const searchTimeout = Duration.seconds(2)
const settleEvery = Duration.millis(200)

/** A person's phone: the state of everything, and what can be done with it. The screen and the script runner sit on this. */
export class Session extends Context.Tag("@svc/simulator/Session")<
  Session,
  {
    readonly state: Effect.Effect<PhoneState>
    /** The present state and each one after it. */
    readonly changes: Stream.Stream<PhoneState>
    /** Waits for the first state of which `pick` makes something. */
    readonly until: <A>(pick: (state: PhoneState) => Option.Option<A>) => Effect.Effect<A>
    /** `to` and `from` in E.164. A call that is under way is hung up first. */
    readonly dial: (to: string, from: string) => Effect.Effect<void, NotConnected>
    /** Asks the agent of the number `from` to call the number `at`, which is this phone's then. */
    readonly receive: (at: string, from: string) => Effect.Effect<void, NotConnected | ApiFailure>
    /** Gives a number to another phone on the network. */
    readonly register: Context.Tag.Service<Phone>["register"]
    readonly say: (text: string) => Effect.Effect<void, NotConnected>
    readonly dtmf: (digits: string) => Effect.Effect<void, NotConnected>
    readonly hangup: Effect.Effect<void>
    /** Reads the numbers and the agents that answer them. */
    readonly refreshNumbers: Effect.Effect<void, ApiFailure>
    /** Completes when the ended call's record is settled, or will not be; at once when no call was made. */
    readonly settled: Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<Session, never, Phone | VoiceClient> = Layer.scoped(
    Session,
    Effect.gen(function* () {
      const phone = yield* Phone
      const client = yield* VoiceClient
      const ref = yield* SubscriptionRef.make(initial(yield* Clock.currentTimeMillis))
      // At most one reading of the record is asked for while another runs.
      const pokes = yield* Queue.sliding<void>(1)
      let settling: Fiber.RuntimeFiber<void> | null = null
      const scope = yield* Effect.scope

      const put = (input: Input): Effect.Effect<PhoneState> =>
        Effect.flatMap(Clock.currentTimeMillis, (at) => SubscriptionRef.updateAndGet(ref, (s) => reduce(s, input, at)))

      /** Reads the record of a call; whether the server has closed it. */
      const readRecord = (call: CallView): Effect.Effect<boolean, ApiFailure> =>
        Effect.gen(function* () {
          const record =
            call.call_id === null
              ? yield* client.newestCall(call.from, call.to, call.dialled_at)
              : yield* client.call(call.call_id)
          if (record === null) return false
          yield* put(Knowledge.RecordRead({ call: record }))
          return record.ended_at !== null
        })

      /** Reads the record of a call that is over until the server says so too. */
      const settle = (call: CallView): Effect.Effect<void> =>
        readRecord(call).pipe(
          Effect.repeat({ until: (ended) => ended, schedule: Schedule.spaced(settleEvery) }),
          Effect.timeoutOption(call.call_id === null ? searchTimeout : settleTimeout),
          Effect.catchAll((error) => put(Knowledge.ApiFailed({ message: error.message }))),
          Effect.asVoid
        )

      const apply = (input: Input) =>
        Effect.gen(function* () {
          const before = yield* SubscriptionRef.get(ref)
          const after = yield* put(input)
          if (inCall(before) && after.call?.phase === "ended" && after.call.ended_by !== "lost") {
            // A hang-up may come from a finalizer, whose children would be uninterruptible and this never end.
            settling = yield* Effect.forkIn(Effect.interruptible(settle(after.call)), scope)
          } else if (input._tag === "Received" && input.message.event === "heard") yield* pokes.offer(undefined)
          if (input._tag === "Connected") {
            yield* refreshNumbers.pipe(
              Effect.catchAll((error) => put(Knowledge.ApiFailed({ message: error.message }))),
              Effect.interruptible,
              Effect.forkIn(scope)
            )
          }
        })

      const refreshNumbers = Effect.gen(function* () {
        const [numbers, agents] = yield* Effect.all([client.numbers, client.agents], { concurrency: 2 })
        yield* put(Knowledge.NumbersListed({ numbers, agents }))
      })

      yield* Stream.runForEach(phone.events, apply).pipe(Effect.forkScoped)

      // A record that cannot be read in mid-call is not worth a line each second; the reading after the end tells.
      yield* pokes.take.pipe(
        Effect.zipRight(SubscriptionRef.get(ref)),
        Effect.flatMap((s) => (s.call?.phase === "live" ? Effect.ignore(readRecord(s.call)) : Effect.void)),
        Effect.forever,
        Effect.forkScoped
      )
      yield* Effect.sleep(Duration.seconds(1)).pipe(
        Effect.zipRight(put(Knowledge.Ticked())),
        Effect.flatMap((s) => (inCall(s) ? pokes.offer(undefined) : Effect.void)),
        Effect.forever,
        Effect.forkScoped
      )

      const hangup = Effect.gen(function* () {
        if (!inCall(yield* SubscriptionRef.get(ref))) return
        yield* Effect.ignore(phone.hangup)
        yield* apply(Action.HungUp())
      })

      return {
        state: SubscriptionRef.get(ref),
        changes: ref.changes,
        until: <A>(pick: (state: PhoneState) => Option.Option<A>) =>
          ref.changes.pipe(
            Stream.filterMap(pick),
            Stream.runHead,
            // The changes of a SubscriptionRef never end.
            Effect.flatMap(Option.match({ onNone: () => Effect.never, onSome: Effect.succeed }))
          ),
        dial: Effect.fn("Session.dial")(function* (to, from) {
          yield* hangup
          if (settling !== null) yield* Fiber.interrupt(settling)
          settling = null
          yield* phone.dial({ to, from })
          yield* apply(Action.Dialled({ to, from }))
        }),
        receive: Effect.fn("Session.receive")(function* (at, from) {
          yield* hangup
          if (settling !== null) yield* Fiber.interrupt(settling)
          settling = null
          yield* phone.receive(at)
          yield* apply(Action.Awaited({ from }))
          yield* client.placeCall(from, at)
        }),
        register: phone.register,
        say: Effect.fn("Session.say")(function* (text) {
          yield* phone.say(text)
          yield* apply(Action.Said({ text }))
        }),
        dtmf: Effect.fn("Session.dtmf")(function* (digits) {
          yield* phone.dtmf(digits)
          yield* apply(Action.Pressed({ digits }))
        }),
        hangup,
        refreshNumbers,
        settled: Effect.suspend(() => (settling === null ? Effect.void : Effect.asVoid(Fiber.await(settling))))
      }
    })
  )
}
