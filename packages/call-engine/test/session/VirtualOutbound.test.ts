import { describe, expect, it } from "@effect/vitest"
import { type LineFigures, noLine } from "@svc/api/calls/CallUsage"
import { recordOf } from "@svc/conversation/CallRecord"
import { replay } from "@svc/conversation/Replay"
import { facts } from "@svc/conversation/testing/Script"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { mulaw8k } from "@svc/providers/Audio"
import { type CallEvent, DialFailed } from "@svc/providers/Telephony"
import { ConfigProvider, type Duration, Effect, FiberSet, Layer } from "effect"
import { VirtualTime } from "../../src/media/VirtualTime.ts"
import { phoneServices } from "../../src/session/PhoneServices.ts"
import * as PhoneSession from "../../src/session/PhoneSession.ts"
import { configuration } from "../doubles/Engine.ts"
import { agent, caller, type Log, memory } from "../doubles/VirtualPhone.ts"

/** Whole outbound and transferred calls, with real audio, in virtual time. */

const answer = configuration(
  { otherwise: "You said {{user}}." },
  { first_message: "Hello, this is the shop.", voicemail_message: "Please call the shop back." }
).json

interface Call {
  readonly log: Log
  readonly session: PhoneSession.PhoneSession
  readonly transfers: ReadonlyArray<string>
  readonly wait: (time: Duration.DurationInput) => Effect.Effect<void>
  /** Starts a sound of the phone; does not wait for its end. */
  readonly begin: (what: "beep" | { readonly say: string }) => Effect.Effect<void>
  readonly progress: (state: "ringing" | "completed" | "busy") => Effect.Effect<void>
  readonly hangup: Effect.Effect<void>
  /** Emits an event of the leg. */
  readonly emit: (event: CallEvent) => Effect.Effect<void>
}

/** Places a call that rings for a second, and runs the test's actions. Its journal must replay without a difference. */
const during = (
  act: (call: Call) => Effect.Effect<void>,
  dialled: "answers" | "hangs" | "busy" | "fails" | "reports" = "answers"
): Effect.Effect<{
  readonly outcome: string
  readonly log: Log
  readonly interrupted: boolean
  readonly line: LineFigures | undefined
  /** The `failure` of the record. */
  readonly failure: string | undefined
}> =>
  Effect.gen(function* () {
    const log: Log = { rows: [], events: [], transcript: [] }
    let interrupted = false
    const server = memory(log, {
      callStarted: () => Effect.as(Effect.sleep("300 millis"), answer),
      toolCall: () => Effect.succeed("ok")
    })
    const run = Effect.scoped(
      Effect.gen(function* () {
        const time = yield* VirtualTime
        const background = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
        const services = yield* phoneServices((effect) => void background(effect))
        const { beep, emit, hangup, leg, progress, say, transfers } = yield* caller
        const dial = {
          answers: Effect.as(Effect.sleep("1 second"), leg),
          // The carrier has decided before the engine listens.
          reports: Effect.as(Effect.sleep("1 second"), {
            ...leg,
            listen: (listener: (event: CallEvent) => void) => {
              leg.listen(listener)
              listener({ _tag: "Answerer", verdict: "machine" })
            }
          }),
          hangs: Effect.never,
          busy: Effect.fail(new DialFailed({ outcome: "busy", reason: "talks" })),
          fails: Effect.fail(new DialFailed({ outcome: "failed", reason: "no trunk", advice: "set TRUNK_URI" }))
        }[dialled].pipe(
          Effect.onInterrupt(() =>
            Effect.sync(() => {
              interrupted = true
            })
          )
        )
        const session = yield* PhoneSession.make(services, {
          id: 1,
          connection: { dial, carrierCallId: () => "one@trunk" },
          agent,
          facts: { ...facts, outbound: { ring_timeout_seconds: 20, metadata: {} } },
          formats: [mulaw8k]
        })
        yield* act({
          log,
          session,
          transfers,
          wait: time.advance,
          begin: (what) => Effect.sync(() => void background(what === "beep" ? beep : say(what.say))),
          progress,
          hangup,
          emit
        })
        const state = yield* session.over
        yield* time.advance("1 second")
        const replayed = replay(JSON.parse(JSON.stringify(log.rows)))
        expect(replayed?.differing).toEqual([])
        const { disposition, ended_reason, status } = state?.outcome ?? {}
        const record = state === undefined ? undefined : recordOf(state)
        return {
          log,
          interrupted,
          line: record?.line,
          failure: record?.failure?.reason,
          outcome: `${status} ${disposition} ${ended_reason}`
        }
      })
    )
    return yield* run.pipe(
      Effect.provide(Layer.mergeAll(server, VirtualTime.layer(facts.started_at))),
      Effect.provide(PluginLoader.layer()),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_PLUGINS", "@svc/plugin-simulated"]]))),
      Effect.orDie
    )
  })

describe("an outbound call", () => {
  it.live("recognizes a hello before the agent speaks, and still says first_message", () =>
    Effect.gen(function* () {
      const { log, outcome } = yield* during(({ begin, hangup, wait }) =>
        Effect.gen(function* () {
          yield* wait("1100 millis")
          yield* begin({ say: "Hello?" })
          yield* wait("5 seconds")
          yield* begin({ say: "Who?" })
          yield* wait("4 seconds")
          yield* hangup
        })
      )
      expect(log.transcript).toEqual([
        "user: Hello?",
        "assistant: Hello, this is the shop.",
        "user: Who?",
        "assistant: You said Who?."
      ])
      expect(outcome).toBe("completed answered caller-hangup")
    })
  )

  it.live("to a voicemail leaves the message after the beep, not over the announcement", () =>
    Effect.gen(function* () {
      const { log, outcome } = yield* during(({ begin, log: { transcript }, wait }) =>
        Effect.gen(function* () {
          yield* wait("1200 millis")
          yield* begin({ say: "You have reached the voicemail of Ann. Please leave a message after the beep." })
          yield* wait("5500 millis")
          expect(transcript.join()).not.toContain("Please call")
          yield* begin("beep")
          yield* wait("10 seconds")
        })
      )
      expect(log.transcript.at(-1)).toBe("assistant: Please call the shop back.")
      expect(log.rows.some(({ input }) => input._tag === "BeepHeard")).toBe(true)
      expect(log.events.some(({ event }) => event === "tool.invoked")).toBe(false)
      expect(outcome).toBe("completed voicemail agent-hangup")
    })
  )

  it.live("leaves its message when the carrier reports a machine, also before the engine listens", () =>
    Effect.gen(function* () {
      const { log, outcome } = yield* during(
        ({ begin, log: { transcript }, wait }) =>
          Effect.gen(function* () {
            yield* wait("1200 millis")
            yield* begin({ say: "This is Ann. I cannot come to the phone." })
            yield* wait("3500 millis")
            expect(transcript.join()).not.toContain("assistant")
            yield* begin("beep")
            yield* wait("10 seconds")
          }),
        "reports"
      )
      expect(log.transcript.filter((turn) => turn.startsWith("assistant"))).toEqual([
        "assistant: Please call the shop back."
      ])
      expect(outcome).toBe("completed voicemail agent-hangup")
    })
  )

  it.live("journals the carrier's verdict until it is decided who answered, and each once", () =>
    Effect.gen(function* () {
      const { log } = yield* during(({ emit, hangup, wait }) =>
        Effect.gen(function* () {
          yield* wait("2 seconds")
          for (const verdict of ["unknown", "unknown", "human", "human", "machine", "fax"] as const)
            yield* emit({ _tag: "Answerer", verdict })
          yield* wait("1 second")
          yield* hangup
        })
      )
      const verdicts = log.rows.flatMap(({ input }) => (input._tag === "AnswererReported" ? [input.verdict] : []))
      expect(verdicts).toEqual(["unknown", "human"])
    })
  )

  it.live("whose network hangs stops ringing after ring_timeout_seconds, and its record has the carrier_call_id", () =>
    Effect.gen(function* () {
      const { interrupted, line, log, outcome } = yield* during(({ wait }) => wait("20 seconds"), "hangs")
      expect(outcome).toBe("no-answer no-answer null")
      expect(line).toEqual({ ...noLine, carrier_call_id: "one@trunk" })
      expect(interrupted).toBe(true)
      expect(log.transcript).toEqual([])
    })
  )

  it.live("that is busy sends no request to the agent's server, and its record has the carrier_call_id", () =>
    Effect.gen(function* () {
      const { line, log, outcome } = yield* during(({ wait }) => wait("1 second"), "busy")
      expect(outcome).toBe("busy busy null")
      expect(line).toEqual({ ...noLine, carrier_call_id: "one@trunk" })
      expect(log.events.map(({ event }) => event)).toEqual(["call.ringing"])
    })
  )

  it.live("that cannot be placed has a failure with the network's reason and what the operator should do", () =>
    Effect.gen(function* () {
      const { failure } = yield* during(({ wait }) => wait("1 second"), "fails")
      expect(failure).toBe("the call could not be placed: no trunk; set TRUNK_URI")
    })
  )

  it.live("that is transferred returns the outcome, hears nothing more, and ends when the network reports it", () =>
    Effect.gen(function* () {
      const answers: Array<string | null> = []
      const { outcome } = yield* during(({ begin, hangup, log: { rows }, progress, session, transfers, wait }) =>
        Effect.gen(function* () {
          yield* wait("5 seconds")
          const asked = session.transfer("+15550009999")
          if (typeof asked === "string") return expect.fail(asked)
          expect(session.transfer("+15550009998")).toBe("already-active")
          yield* Effect.forkDaemon(Effect.map(asked, (failure) => answers.push(failure)))
          yield* wait("1 second")
          expect(transfers).toEqual(["+15550009999"])
          yield* progress("ringing")
          yield* progress("completed")
          yield* wait("1 second")
          expect(session.transfer("+15550009998")).toBe("not-in-progress")
          const before = rows.length
          yield* begin({ say: "Is this sales?" })
          yield* wait("30 seconds")
          expect(rows.length).toBe(before)
          yield* hangup
        })
      )
      expect(answers).toEqual([null])
      expect(outcome).toBe("completed transferred transfer")
    })
  )

  it.live("whose transfer is in progress when another node takes the call over returns a failure", () =>
    Effect.gen(function* () {
      const answers: Array<string | null> = []
      yield* during(({ session, wait }) =>
        Effect.gen(function* () {
          yield* wait("5 seconds")
          const asked = session.transfer("+15550009999")
          if (typeof asked === "string") return expect.fail(asked)
          yield* Effect.forkDaemon(Effect.map(asked, (failure) => answers.push(failure)))
          yield* wait("1 second")
          session.abandon()
        })
      )
      expect(answers).toEqual(["the call ended"])
    })
  )
})
