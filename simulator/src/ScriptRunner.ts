import type { Call } from "@svc/api/calls/Call"
import { Clock, Data, Duration, Effect, Either, Option } from "effect"
import { agentSpeaks, type Line } from "./Dialogue.ts"
import { type CallView, inCall, type PhoneState } from "./PhoneState.ts"
import { describe, type Script, type Step } from "./Script.ts"
import { Session } from "./Session.ts"

/** A step did not find what it expected. */
export class StepFailed extends Data.TaggedError("StepFailed")<{
  /** From 1. */
  readonly step: number
  readonly what: string
  readonly message: string
}> {}

/** The line to the server broke, or never was. */
export class ServerAway extends Data.TaggedError("ServerAway")<{ readonly message: string }> {}

/** An agent that ends a sentence goes on with the next one within this time, or it is the caller's turn. */
const turnPause = Duration.millis(250)

/** Waits longer than its own limit by what we still have to say. */
const speechLeft = (state: PhoneState): number => Math.max(0, (state.call?.dialogue.speech_ends_at ?? 0) - state.now)

const agentLines = (call: CallView, from: number): ReadonlyArray<Line> =>
  call.dialogue.lines.filter((line) => line.who === "agent" && line.id >= from)

const textOf = (lines: ReadonlyArray<Line>): string => lines.map((line) => line.text).join(" ")

const ended = (call: CallView): string => `the call has ended (${call.cause ?? "unknown cause"})`

/**
 * Plays a script on a session: dials, takes the steps in order, hangs up when the call is still on, and waits for the
 * call record. Fails with the first step that is not met; every wait has a bound.
 */
export const play = Effect.fn("ScriptRunner.play")(function* (script: Script, to: string, from: string) {
  const session = yield* Session
  /** Lines of the agent before this one are used up: matched, or said before we spoke. */
  let cursor = 0

  const wait = <A>(
    seconds: number,
    pick: (call: CallView, state: PhoneState) => Option.Option<Either.Either<A, string>>,
    late: (call: CallView) => string
  ): Effect.Effect<A, string | ServerAway> =>
    Effect.gen(function* () {
      const start = yield* session.state
      const found = yield* session
        .until((state): Option.Option<Either.Either<A, string | ServerAway>> => {
          if (state.connection.status === "away") {
            return Option.some(
              Either.left(new ServerAway({ message: `the server is away: ${state.connection.reason}` }))
            )
          }
          return state.call === null ? Option.none() : pick(state.call, state)
        })
        .pipe(Effect.timeoutOption(Duration.millis(seconds * 1000 + speechLeft(start))))
      if (Option.isSome(found)) return yield* found.value
      const { call } = yield* session.state
      return yield* Effect.fail(call === null ? "there is no call" : late(call))
    })

  const say = Effect.fnUntraced(function* (text: string) {
    const { call } = yield* session.state
    cursor = call?.dialogue.lines.length ?? 0
    yield* session.say(text)
  })

  /** Until the agent is silent and has been for the length of a pause. */
  const myTurn = (seconds: number): Effect.Effect<void, string | ServerAway> => {
    const silence = wait(
      seconds,
      (call) =>
        call.phase === "ended"
          ? Option.some(Either.left(ended(call)))
          : call.phase === "live" && !agentSpeaks(call.dialogue)
            ? Option.some(Either.right(call.dialogue.lines.length))
            : Option.none(),
      () => `the agent did not let us speak within ${seconds} s`
    )
    const pause: Effect.Effect<boolean, string | ServerAway> = Effect.gen(function* () {
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

  const run = (step: Step): Effect.Effect<void, string | ServerAway> =>
    Effect.gen(function* () {
      const seconds = "within" in step && step.within !== undefined ? step.within : script.timeout
      if ("expect" in step) {
        cursor = yield* wait(
          seconds,
          (call) => {
            const lines = agentLines(call, cursor).filter((line) => line.final)
            for (const [n, line] of lines.entries()) {
              if (step.expect.test(textOf(lines.slice(0, n + 1)))) return Option.some(Either.right(line.id + 1))
            }
            return call.phase === "ended"
              ? Option.some(Either.left(`${ended(call)}; ${insteadOf(call, cursor)}`))
              : Option.none()
          },
          (call) => `not heard within ${seconds} s; ${insteadOf(call, cursor)}`
        )
      } else if ("say" in step) {
        yield* myTurn(seconds)
        yield* say(step.say)
      } else if ("interrupt" in step) {
        yield* wait(
          seconds,
          (call) =>
            call.phase === "ended"
              ? Option.some(Either.left(ended(call)))
              : agentSpeaks(call.dialogue) && (step.after?.test(textOf(agentLines(call, cursor))) ?? true)
                ? Option.some(Either.right(undefined))
                : Option.none(),
          (call) => `no chance to interrupt within ${seconds} s; ${insteadOf(call, cursor)}`
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
          (call) => `not transferred within ${seconds} s; ${insteadOf(call, cursor)}`
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
      } else {
        yield* wait(
          seconds,
          (call) =>
            call.phase === "ended" && call.record !== null && call.record.ended_at !== null
              ? Option.some(compare(step.expect_call, call.record))
              : Option.none(),
          (call) =>
            call.phase !== "ended"
              ? `the call has not ended within ${seconds} s`
              : call.record === null
                ? "there is no call record (was a key given?)"
                : `the record was not settled within ${seconds} s`
        )
      }
    }).pipe(Effect.catchTag("NotConnected", (e) => new ServerAway({ message: e.message })))

  const begin = script.receive === undefined ? session.dial(to, from) : session.receive(script.receive, to)
  yield* Effect.mapError(begin, (e) => new ServerAway({ message: e.message }))
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
  // A last look: a call that ended while its line broke has not been seen to its end.
  const last = yield* session.state
  if (inCall(last)) return yield* new ServerAway({ message: "the call could not be ended" })
})

const insteadOf = (call: CallView, cursor: number): string => {
  const lines = agentLines(call, cursor)
  return lines.length === 0 ? "nothing was said" : `heard instead: "${textOf(lines)}"`
}

type Expected = Extract<Step, { readonly expect_call: unknown }>["expect_call"]

/** What of the record is not as expected, all of it at once. */
const compare = (expected: Expected, call: Call): Either.Either<void, string> => {
  const wrong: Array<string> = []
  const differs = (name: string, is: unknown, should: unknown) =>
    wrong.push(`${name} is ${JSON.stringify(is)} instead of ${JSON.stringify(should)}`)
  if (expected.status !== undefined && expected.status !== call.status) differs("status", call.status, expected.status)
  if (expected.disposition !== undefined && expected.disposition !== call.disposition) {
    differs("disposition", call.disposition, expected.disposition)
  }
  if (expected.transferred_to !== undefined && expected.transferred_to !== call.transferred_to) {
    differs("transferred_to", call.transferred_to, expected.transferred_to)
  }
  if (expected.ended_reason !== undefined && expected.ended_reason !== call.ended_reason) {
    differs("ended_reason", call.ended_reason, expected.ended_reason)
  }
  if (expected.tools_called !== undefined && expected.tools_called.join() !== call.tools_called.join()) {
    differs("tools_called", call.tools_called, expected.tools_called)
  }
  let at = 0
  for (const [n, turn] of (expected.transcript ?? []).entries()) {
    const found = call.transcript.findIndex((t, i) => i >= at && t.role === turn.role && turn.content.test(t.content))
    if (found < 0) {
      const rest = call.transcript.slice(at).map((t) => `${t.role}: ${t.content}`)
      wrong.push(
        `transcript[${n}] ${turn.role} /${turn.content.source}/ is missing in: ${rest.join(" | ") || "nothing"}`
      )
      break
    }
    at = found + 1
  }
  return wrong.length === 0 ? Either.void : Either.left(wrong.join("; "))
}
