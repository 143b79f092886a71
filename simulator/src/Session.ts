import { Clock, Context, Duration, Effect, Fiber, Layer, Option, Queue, Stream, SubscriptionRef } from "effect"
import { followDeliveries, type Reading, readTimeline, settle } from "./CallReader.ts"
import * as Dialogue from "./Dialogue.ts"
import { type NotConnected, Phone } from "./Phone.ts"
import { Action, type Input, Update } from "./PhoneInput.ts"
import { reduce } from "./PhoneReducer.ts"
import { inCall, initial, type PhoneState } from "./PhoneState.ts"
import { type ApiFailure, VoiceClient } from "./VoiceClient.ts"

/** After this time the end of an utterance is no cut any more, and a report can show it. */
const uncutAfter = Duration.millis(Dialogue.clearDelayMs + 1)

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
    /** Reads the numbers and their agents. A failure is also in the state. */
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
      // At most one request waits while a timeline is being read.
      const recordRequests = yield* Queue.sliding<void>(1)
      let settling: Fiber.RuntimeFiber<void> | null = null
      const scope = yield* Effect.scope

      const update = (input: Input): Effect.Effect<PhoneState> =>
        Effect.flatMap(Clock.currentTimeMillis, (at) => SubscriptionRef.updateAndGet(ref, (s) => reduce(s, input, at)))

      const reading: Reading = { client, state: SubscriptionRef.get(ref), update }

      /** Reads all about the call that has ended, in the background. */
      const settleEnded = Effect.gen(function* () {
        const { call } = yield* SubscriptionRef.get(ref)
        if (call === null || call.phase !== "ended") return
        // Interruptible, because a hangup in a finalizer is not, and its child fibers would inherit that.
        settling = yield* Effect.forkIn(Effect.interruptible(settle(reading, call)), scope)
        yield* Fiber.await(settling).pipe(
          Effect.zipRight(followDeliveries(reading, call.id)),
          Effect.interruptible,
          Effect.forkIn(scope)
        )
      })

      const ticked = (after: Duration.DurationInput) => Effect.zipRight(Effect.sleep(after), update(Update.Ticked()))

      const apply = (input: Input) =>
        Effect.gen(function* () {
          const before = yield* SubscriptionRef.get(ref)
          const after = yield* update(input)
          const isLost = after.call?.ended_by === "lost"
          if (inCall(before) && after.call?.phase === "ended" && !isLost) yield* settleEnded
          else if (input._tag === "Received" && input.message.event === "heard") {
            yield* recordRequests.offer(undefined)
            if (input.message.final) yield* Effect.forkIn(Effect.interruptible(ticked(uncutAfter)), scope)
          }
          if (input._tag === "Connected") {
            // Only now it can be read how a lost call ended.
            if (isLost && after.call?.record?.ended_at == null) yield* settleEnded
            yield* Effect.forkIn(Effect.interruptible(Effect.ignore(refreshNumbers)), scope)
          }
        })

      const refreshNumbers = Effect.gen(function* () {
        const [numbers, agents] = yield* Effect.all([client.numbers, client.agents], { concurrency: 2 })
        yield* update(Update.NumbersListed({ numbers, agents }))
      }).pipe(Effect.tapError(({ kind, message }) => update(Update.ApiFailed({ kind, message }))))

      yield* Stream.runForEach(phone.events, apply).pipe(Effect.forkScoped)

      // A failure during a call is shown, but not logged each time; a failure after its end is logged.
      yield* recordRequests.take.pipe(
        Effect.zipRight(SubscriptionRef.get(ref)),
        Effect.flatMap((s) => (s.call?.phase === "live" ? Effect.ignore(readTimeline(reading, s.call)) : Effect.void)),
        Effect.forever,
        Effect.forkScoped
      )
      yield* ticked("1 second").pipe(
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
          settling = null
          yield* phone.dial({ to, from })
          yield* apply(Action.Dialled({ to, from }))
        }),
        receive: Effect.fn("Session.receive")(function* (at, from) {
          yield* hangup
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
