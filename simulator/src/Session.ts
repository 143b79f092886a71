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
import { Action, type CallView, type Input, inCall, initial, type PhoneState, reduce, Update } from "./PhoneState.ts"
import { type ApiFailure, VoiceClient } from "./VoiceClient.ts"

/** How long the record of an ended call is read until the server has settled it. */
const settleTimeout = Duration.seconds(10)
/** How long the record of a call without an id is searched. There may be none. */
const searchTimeout = Duration.seconds(2)
const settleEvery = Duration.millis(200)

/** A phone with its state, the base of the screen and the script runner. */
export class Session extends Context.Tag("@svc/simulator/Session")<
  Session,
  {
    readonly state: Effect.Effect<PhoneState>
    /** The current state and all later ones. */
    readonly changes: Stream.Stream<PhoneState>
    /** Waits for the first state for which `pick` returns a value. */
    readonly until: <A>(pick: (state: PhoneState) => Option.Option<A>) => Effect.Effect<A>
    /** `to` and `from` in E.164. Hangs up the current call first. */
    readonly dial: (to: string, from: string) => Effect.Effect<void, NotConnected>
    /** Registers the number `at` for this phone and requests a call to it from the agent of the number `from`. */
    readonly receive: (at: string, from: string) => Effect.Effect<void, NotConnected | ApiFailure>
    /** Registers a number for another phone on the network. */
    readonly register: Context.Tag.Service<Phone>["register"]
    readonly say: (text: string) => Effect.Effect<void, NotConnected>
    readonly dtmf: (digits: string) => Effect.Effect<void, NotConnected>
    readonly hangup: Effect.Effect<void>
    /** Reads the numbers and their agents. */
    readonly refreshNumbers: Effect.Effect<void, ApiFailure>
    /** Completes when the record of the ended call was settled or its search has timed out; at once without a call. */
    readonly settled: Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<Session, never, Phone | VoiceClient> = Layer.scoped(
    Session,
    Effect.gen(function* () {
      const phone = yield* Phone
      const client = yield* VoiceClient
      const ref = yield* SubscriptionRef.make(initial(yield* Clock.currentTimeMillis))
      // At most one request waits while a record is being read.
      const recordRequests = yield* Queue.sliding<void>(1)
      let settling: Fiber.RuntimeFiber<void> | null = null
      const scope = yield* Effect.scope

      const update = (input: Input): Effect.Effect<PhoneState> =>
        Effect.flatMap(Clock.currentTimeMillis, (at) => SubscriptionRef.updateAndGet(ref, (s) => reduce(s, input, at)))

      /** Reads the record of a call. Returns whether the server has settled it. */
      const readRecord = (call: CallView): Effect.Effect<boolean, ApiFailure> =>
        Effect.gen(function* () {
          const record =
            call.call_id === null
              ? yield* client.newestCall(call.from, call.to, call.dialled_at)
              : yield* client.call(call.call_id)
          if (record === null) return false
          yield* update(Update.RecordRead({ call: record }))
          return record.ended_at !== null
        })

      /** Reads the address of the debug page. A call without one, as on an older server, has none. */
      const readLink = Effect.gen(function* () {
        const { call } = yield* SubscriptionRef.get(ref)
        if (call === null || call.record === null || call.call_id === null) return
        const url = yield* client.debugLink(call.call_id)
        yield* update(Update.LinkRead({ call_id: call.call_id, url }))
      }).pipe(Effect.ignore)

      /** Reads the record of an ended call until the server has settled it. */
      const settle = (call: CallView): Effect.Effect<void> =>
        readRecord(call).pipe(
          Effect.repeat({ until: (ended) => ended, schedule: Schedule.spaced(settleEvery) }),
          Effect.timeoutOption(call.call_id === null ? searchTimeout : settleTimeout),
          Effect.catchAll((error) => update(Update.ApiFailed({ message: error.message }))),
          Effect.zipRight(readLink)
        )

      const apply = (input: Input) =>
        Effect.gen(function* () {
          const before = yield* SubscriptionRef.get(ref)
          const after = yield* update(input)
          if (inCall(before) && after.call?.phase === "ended" && after.call.ended_by !== "lost") {
            // Interruptible, because a hangup in a finalizer is not, and its child fibers would inherit that.
            settling = yield* Effect.forkIn(Effect.interruptible(settle(after.call)), scope)
          } else if (input._tag === "Received" && input.message.event === "heard")
            yield* recordRequests.offer(undefined)
          if (input._tag === "Connected") {
            yield* refreshNumbers.pipe(
              Effect.catchAll((error) => update(Update.ApiFailed({ message: error.message }))),
              Effect.interruptible,
              Effect.forkIn(scope)
            )
          }
        })

      const refreshNumbers = Effect.gen(function* () {
        const [numbers, agents] = yield* Effect.all([client.numbers, client.agents], { concurrency: 2 })
        yield* update(Update.NumbersListed({ numbers, agents }))
      })

      yield* Stream.runForEach(phone.events, apply).pipe(Effect.forkScoped)

      // Failures during a call are ignored; a failure after its end is logged.
      yield* recordRequests.take.pipe(
        Effect.zipRight(SubscriptionRef.get(ref)),
        Effect.flatMap((s) => (s.call?.phase === "live" ? Effect.ignore(readRecord(s.call)) : Effect.void)),
        Effect.forever,
        Effect.forkScoped
      )
      yield* Effect.sleep(Duration.seconds(1)).pipe(
        Effect.zipRight(update(Update.Ticked())),
        Effect.flatMap((s) => (inCall(s) ? recordRequests.offer(undefined) : Effect.void)),
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
            // The stream of changes never ends.
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
