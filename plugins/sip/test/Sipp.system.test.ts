import { spawn, spawnSync } from "node:child_process"
import { describe, expect, it } from "@effect/vitest"
import { type CallEvent, type CallLeg, Telephony } from "@svc/providers/Telephony"
import { Effect, Fiber, Stream } from "effect"
import { until } from "./BaresipPhone.ts"
import { plugin } from "./SipPhones.ts"

const isInstalled = spawnSync("sipp", ["-v"]).error === undefined

const absent = "sipp is not installed: its tests were not run (on Debian: apt-get install sip-tester)"

const port = 27_360

/** Runs sipp, which ends when all its calls are over, and gives its exit code: 0 when each call was as its scenario says. */
const sipp = (...options: ReadonlyArray<string>): Effect.Effect<number | null> =>
  Effect.async((resume) => {
    const child = spawn("sipp", [`127.0.0.1:${port}`, "-i", "127.0.0.1", "-nostdin", "-timeout", "40", ...options], {
      stdio: "ignore",
      cwd: "/tmp"
    })
    child.once("exit", (code) => resume(Effect.succeed(code)))
    child.once("error", () => resume(Effect.succeed(-1)))
    return Effect.sync(() => child.kill("SIGKILL"))
  })

interface Answered {
  readonly leg: CallLeg
  readonly events: Array<CallEvent>
  readonly to: string
}

/** Answers each call, and records what happens to it. */
const answering = Effect.gen(function* () {
  const telephony = yield* Telephony
  const calls: Array<Answered> = []
  yield* Effect.forkScoped(
    Stream.runForEach(telephony.incoming, (call) =>
      Effect.gen(function* () {
        call.ringing("call")
        const leg = yield* call.answer({ callId: "call", formats: telephony.capabilities.formats })
        const events: Array<CallEvent> = []
        leg.listen((event) => events.push(event))
        calls.push({ leg, events, to: call.to })
      }).pipe(Effect.ignore)
    )
  )
  return calls
})

const ended = (calls: ReadonlyArray<Answered>) =>
  calls.map(({ events }) => events.flatMap((event) => (event._tag === "Ended" ? [event.cause] : [])))

const layer = plugin(port, { rtpPorts: "27400-27899" })

describe.skipIf(!isInstalled)(isInstalled ? "calls of sipp" : absent, () => {
  for (const [name, options] of Object.entries({
    "over UDP": ["-p", "27370", "-m", "3"],
    "over TCP": ["-p", "27371", "-m", "3", "-t", "t1"],
    "100 at once": ["-p", "27372", "-m", "100", "-l", "100", "-r", "50", "-d", "3000"],
    "with one packet of seven lost": ["-p", "27373", "-m", "10", "-r", "10", "-lost", "15"]
  })) {
    it.scopedLive(
      `are answered and ended as the standard says: ${name}`,
      () =>
        Effect.gen(function* () {
          const calls = yield* answering
          const before = yield* sipp("-sn", "uac", "-s", "+4930123", "-d", "200", ...options)
          expect(before).toBe(0)
          expect(calls.length).toBeGreaterThanOrEqual(3)
          expect(new Set(calls.map(({ to }) => to))).toEqual(new Set(["+4930123"]))
          // The last call ends for its leg after the audio that was sent before the BYE.
          yield* until("the end of each call", () => ended(calls).every((causes) => causes.length > 0))
          expect(ended(calls)).toEqual(calls.map(() => ["hangup"]))
        }).pipe(Effect.provide(layer)),
      60_000
    )
  }

  it.scopedLive(
    "are placed through it as a trunk",
    () =>
      Effect.gen(function* () {
        const trunk = yield* Effect.fork(sipp("-sn", "uas", "-p", "27380", "-m", "1"))
        const { outbound } = yield* Telephony
        if (outbound === undefined) return yield* Effect.dieMessage("no trunk")
        const formats = [{ encoding: "mulaw", sampleRate: 8000 }] as const
        const leg = yield* outbound.dial({ callId: "call", to: "+4930", from: "+4989", formats })
        leg.hangup("done")
        expect(yield* Fiber.join(trunk)).toBe(0)
      }).pipe(Effect.provide(plugin(port, { rtpPorts: "27400-27899", trunkUri: "sip:127.0.0.1:27380" }))),
    60_000
  )
})
