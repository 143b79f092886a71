import { Clock, Data, Duration, Effect, Either, Option } from "effect"
import type { CallView } from "./CallView.ts"
import { agentSpeaks, type Utterance } from "./Dialogue.ts"
import * as Expectations from "./Expectations.ts"
import { inCall, type PhoneState } from "./PhoneState.ts"
import type { Script } from "./Script.ts"
import { describe, type Step } from "./ScriptSteps.ts"
import { Session } from "./Session.ts"

/** The expectation of a step was not met. */
export class StepFailed extends Data.TaggedError("StepFailed")<{
  /** From 1. */
  readonly step: number
  readonly what: string
  readonly message: string
}> {}

/** There is no connection to the server. */
export class ServerUnavailable extends Data.TaggedError("ServerUnavailable")<{ readonly message: string }> {}

/** When the agent is silent for this long after a sentence, it is the caller's turn. */
const turnPause = Duration.millis(250)

/** Milliseconds until the end of the caller's speech, which extend the limit of a wait. */
const speechLeft = (state: PhoneState): number => Math.max(0, (state.call?.dialogue.speech_ends_at ?? 0) - state.now)

const agentUtterances = (call: CallView, from: number): ReadonlyArray<Utterance> =>
  call.dialogue.utterances.filter((utterance) => utterance.who === "agent" && utterance.id >= from)

const textOf = (utterances: ReadonlyArray<Utterance>): string => utterances.map((utterance) => utterance.text).join(" ")

const ended = (call: CallView): string => `the call has ended (${call.cause ?? "unknown cause"})`

/**
 * Plays a script on a session: dials, runs the steps in order, hangs up if the call has not ended, and waits for the
 * call record. Fails with the first step that is not met. Every wait has a time limit.
 */
export const play = Effect.fn("ScriptRunner.play")(function* (script: Script, to: string, from: string) {
  const session = yield* Session
  /**
   * The index of the first utterance that may still match: earlier ones were matched or came before the caller's last
   * words.
   */
  let cursor = 0
  /** The ids of the tools' calls that steps have matched. */
  const usedTools = new Set<string>()

  const wait = <A>(
    seconds: number,
    pick: (call: CallView, state: PhoneState) => Option.Option<Either.Either<A, string>>,
    onTimeout: (call: CallView) => string
  ): Effect.Effect<A, string | ServerUnavailable> =>
    Effect.gen(function* () {
      const start = yield* session.state
      const found = yield* session
        .until((state): Option.Option<Either.Either<A, string | ServerUnavailable>> => {
          if (state.connection.status === "away") {
            return Option.some(
              Either.left(new ServerUnavailable({ message: `the server is away: ${state.connection.reason}` }))
            )
          }
          return state.call === null ? Option.none() : pick(state.call, state)
        })
        .pipe(Effect.timeoutOption(Duration.millis(seconds * 1000 + speechLeft(start))))
      if (Option.isSome(found)) return yield* found.value
      const { call } = yield* session.state
      return yield* Effect.fail(call === null ? "there is no call" : onTimeout(call))
    })

  const say = Effect.fnUntraced(function* (text: string) {
    const { call } = yield* session.state
    cursor = call?.dialogue.utterances.length ?? 0
    yield* session.say(text)
  })

  /** Waits until the agent has been silent for the length of a pause. */
  const callerTurn = (seconds: number): Effect.Effect<void, string | ServerUnavailable> => {
    const silence = wait(
      seconds,
      (call) =>
        call.phase === "ended"
          ? Option.some(Either.left(ended(call)))
          : call.phase === "live" && !agentSpeaks(call.dialogue)
            ? Option.some(Either.right(call.dialogue.utterances.length))
            : Option.none(),
      () => `the agent did not let us speak within ${seconds} s`
    )
    const pause: Effect.Effect<boolean, string | ServerUnavailable> = Effect.gen(function* () {
      const before = yield* silence
      yield* Effect.sleep(turnPause)
      const after = yield* silence
      return before === after
    })
    return pause.pipe(
      Effect.repeat({ until: (quiet) => quiet }),
      Effect.timeoutFail({
        duration: Duration.seconds(seconds + 1),
        onTimeout: () => `the agent did not stop speaking within ${seconds} s`
      }),
      Effect.asVoid
    )
  }

  const run = (step: Step): Effect.Effect<void, string | ServerUnavailable> =>
    Effect.gen(function* () {
      const seconds = "within" in step && step.within !== undefined ? step.within : script.timeout
      if ("expect" in step) {
        cursor = yield* wait(
          seconds,
          (call) => {
            const utterances = agentUtterances(call, cursor).filter((utterance) => utterance.final)
            for (const [n, utterance] of utterances.entries()) {
              if (step.expect.test(textOf(utterances.slice(0, n + 1))))
                return Option.some(Either.right(utterance.id + 1))
            }
            return call.phase === "ended"
              ? Option.some(Either.left(`${ended(call)}; ${heardInstead(call, cursor)}`))
              : Option.none()
          },
          (call) => `not heard within ${seconds} s; ${heardInstead(call, cursor)}`
        )
      } else if ("say" in step) {
        yield* callerTurn(seconds)
        yield* say(step.say)
      } else if ("interrupt" in step) {
        yield* wait(
          seconds,
          (call) =>
            call.phase === "ended"
              ? Option.some(Either.left(ended(call)))
              : agentSpeaks(call.dialogue) && (step.after?.test(textOf(agentUtterances(call, cursor))) ?? true)
                ? Option.some(Either.right(undefined))
                : Option.none(),
          (call) => `no chance to interrupt within ${seconds} s; ${heardInstead(call, cursor)}`
        )
        yield* say(step.interrupt)
      } else if ("dtmf" in step) {
        yield* session.dtmf(step.dtmf)
      } else if ("wait_ms" in step) {
        yield* wait<never>(
          step.wait_ms / 1000,
          () => Option.none(),
          () => "waited"
        ).pipe(Effect.catchAll((e) => (typeof e === "string" ? Effect.void : Effect.fail(e))))
      } else if ("hangup" in step) {
        yield* Effect.sleep(
          Duration.millis(speechLeft({ ...(yield* session.state), now: yield* Clock.currentTimeMillis }))
        )
        yield* session.hangup
      } else if ("register" in step) {
        yield* session.register(step.register)
      } else if ("expect_transfer" in step) {
        const wanted = step.expect_transfer === null || step.expect_transfer === true ? undefined : step.expect_transfer
        yield* wait(
          seconds,
          (call) =>
            call.transferred_to === null
              ? call.phase === "ended"
                ? Option.some(Either.left(ended(call)))
                : Option.none()
              : Option.some(
                  wanted?.destination === undefined || wanted.destination === call.transferred_to
                    ? Either.right(undefined)
                    : Either.left(`transferred to ${call.transferred_to} instead of ${wanted.destination}`)
                ),
          (call) => `not transferred within ${seconds} s; ${heardInstead(call, cursor)}`
        )
      } else if ("expect_hangup" in step) {
        const wanted = step.expect_hangup === null || step.expect_hangup === true ? undefined : step.expect_hangup.cause
        yield* wait(
          seconds,
          (call) => {
            if (call.phase !== "ended") return Option.none()
            if (call.ended_by === "us") return Option.some(Either.left("we hung up ourselves"))
            return Option.some(
              wanted === undefined || wanted === call.cause
                ? Either.right(undefined)
                : Either.left(`ended with cause "${call.cause}" instead of "${wanted}"`)
            )
          },
          () => `the other side did not hang up within ${seconds} s`
        )
      } else if ("expect_tool" in step) {
        const wanted = typeof step.expect_tool === "string" ? { name: step.expect_tool } : step.expect_tool
        usedTools.add(
          yield* wait(
            seconds,
            (call) => Expectations.toolVerdict(call, wanted, usedTools),
            (call) => `not within ${seconds} s: ${Expectations.toolLate(call, wanted, usedTools)}`
          )
        )
      } else if ("expect_event" in step) {
        const wanted = typeof step.expect_event === "string" ? { event: step.expect_event } : step.expect_event
        yield* wait(
          seconds,
          (call) => Expectations.eventVerdict(call, wanted),
          (call) => `not within ${seconds} s: ${Expectations.eventLate(call, wanted)}`
        )
      } else if ("expect_latency" in step) {
        const { call: now } = yield* session.state
        const stale = now?.timeline ?? null
        yield* wait(
          seconds,
          (call) => Expectations.latencyVerdict(call, step.expect_latency, stale),
          (call) => (call.timeline === null ? Expectations.unknown(call) : `no turn was measured within ${seconds} s`)
        )
      } else {
        yield* wait(
          seconds,
          (call) =>
            call.phase === "ended" && call.record !== null && call.record.ended_at !== null
              ? Option.some(Expectations.compare(step.expect_call, call.record))
              : Option.none(),
          (call) =>
            call.phase !== "ended"
              ? `the call has not ended within ${seconds} s`
              : call.record === null
                ? "there is no call record (was a key given?)"
                : `the record was not settled within ${seconds} s`
        )
      }
    }).pipe(Effect.catchTag("NotConnected", (e) => new ServerUnavailable({ message: e.message })))

  const start = script.receive === undefined ? session.dial(to, from) : session.receive(script.receive, to)
  yield* Effect.mapError(start, (e) => new ServerUnavailable({ message: e.message }))
  yield* Effect.forEach(
    script.steps,
    (step, n) =>
      run(step).pipe(
        Effect.catchIf(
          (e) => typeof e === "string",
          (message) => new StepFailed({ step: n + 1, what: describe(step), message })
        )
      ),
    { discard: true }
  ).pipe(Effect.ensuring(Effect.zipRight(session.hangup, session.settled)))
  // The connection may have broken while the call was hung up.
  const last = yield* session.state
  if (inCall(last)) return yield* new ServerUnavailable({ message: "the call could not be ended" })
})

const heardInstead = (call: CallView, cursor: number): string => {
  const utterances = agentUtterances(call, cursor)
  return utterances.length === 0 ? "nothing was said" : `heard instead: "${textOf(utterances)}"`
}
