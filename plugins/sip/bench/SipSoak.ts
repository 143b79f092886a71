/**
 * Random calls with faults, after which no call, transaction, timer or port may remain. Run with
 * `npm run soak:sip -- [minutes]`; 10 minutes by default. Calls go over UDP, TCP and TLS, in equal parts. One SIP message of
 * ten is lost on each side, and one new connection of ten is closed; calls are given up, refused, silent and transferred, and
 * the process of the other side is killed every half minute. The exit code is 1 when something remains.
 */
import { fork } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { legFormats } from "@svc/providers/Audio"
import { type CallLeg, Telephony } from "@svc/providers/Telephony"
import { freePort } from "@svc/providers/testing/FreePorts"
import { Console, Effect, Random, Schedule, Stream } from "effect"
import type { RtpMedia } from "../src/rtp/RtpMedia.ts"
import type { Signaling } from "../src/Signaling.ts"
import * as SipTelephony from "../src/SipTelephony.ts"
import {
  anyCaller,
  chance,
  frame,
  hangsUp,
  lossy,
  quiet,
  type SoakPorts,
  settingsOf,
  writeCertificate
} from "./SoakCalls.ts"

const minutes = Number(process.argv[2] ?? 10)
/** Longer than the timers of a transaction, and the time in which a silent peer is given up. */
const settleMs = 90_000

const freePorts: Effect.Effect<SoakPorts> = Effect.all({ port: freePort, tlsPort: freePort })

const descriptors = (): number => readdirSync("/proc/self/fd").length

const heldMb = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / 1e6
}

const counts = { incoming: 0, outgoing: 0, answered: 0, ended: 0, failed: 0, transfers: 0, kills: 0 }

/** Plays what it hears, transfers now and then, and hangs up, or leaves that to the other side. */
const talk = (leg: CallLeg) =>
  Effect.gen(function* () {
    counts.answered++
    leg.listen((event) => {
      if (event._tag === "Ended") counts[event.cause === "failed" ? "failed" : "ended"]++
    })
    const frames = yield* Random.nextIntBetween(1, 300)
    const speaks = yield* chance(0.8)
    yield* Effect.sync(() => {
      if (speaks) leg.send(frame)
    }).pipe(Effect.repeat(Schedule.intersect(Schedule.fixed("20 millis"), Schedule.recurs(frames))))
    if (yield* chance(0.2)) {
      counts.transfers++
      leg.transferBlind?.("+12025550177")
    }
    yield* hangsUp(leg, 0.5)
  })

interface Parts {
  readonly signaling: Signaling
  readonly media: RtpMedia
}

const soak = (own: SoakPorts, other: SoakPorts, folder: string, parts: () => Parts) =>
  Effect.gen(function* () {
    const telephony = yield* Telephony
    const { outbound } = telephony
    if (outbound === undefined) return yield* Effect.dieMessage("no trunk")
    const { media, signaling } = parts()
    const before = { descriptors: descriptors(), heapMb: heldMb() }
    yield* Effect.forkScoped(
      Stream.runForEach(telephony.incoming, (call) =>
        Effect.gen(function* () {
          counts.incoming++
          if (yield* chance(0.1)) return call.reject("unavailable")
          if (yield* chance(0.7)) call.ringing("soak")
          yield* Effect.sleep(yield* Random.nextIntBetween(0, 400))
          if (yield* chance(0.1)) {
            yield* Effect.timeoutOption(call.canceled, "5 seconds")
            return call.reject("unavailable")
          }
          yield* talk(yield* call.answer({ callId: "soak", formats: legFormats }))
        }).pipe(Effect.ignore, Effect.forkDaemon)
      )
    )
    const dial = Effect.gen(function* () {
      counts.outgoing++
      const call = { callId: "soak", to: "+12025550188", from: yield* anyCaller, formats: legFormats }
      const giveUpMs = (yield* chance(0.25)) ? yield* Random.nextIntBetween(0, 500) : 20_000
      const leg = yield* Effect.timeout(outbound.dial(call), giveUpMs)
      yield* talk(leg)
    }).pipe(Effect.ignore)
    const dialling = Effect.forkDaemon(dial).pipe(
      Effect.zipRight(Effect.flatMap(Random.nextIntBetween(50, 300), (ms) => Effect.sleep(ms))),
      Effect.forever
    )
    const peer = Effect.acquireUseRelease(
      Effect.sync(() =>
        fork(
          fileURLToPath(new URL("SoakPeer.ts", import.meta.url)),
          [other.port, other.tlsPort, own.port, own.tlsPort, folder].map(String)
        )
      ),
      () => Effect.flatMap(Random.nextIntBetween(15_000, 45_000), (ms) => Effect.sleep(ms)),
      (child) =>
        Effect.sync(() => {
          counts.kills++
          child.kill("SIGKILL")
        })
    )
    const report = Effect.suspend(() =>
      Console.log(JSON.stringify({ ...counts, calls: signaling.agent.size, media: media.size() }))
    )
    yield* Effect.all([dialling, Effect.forever(peer), Effect.repeat(report, Schedule.spaced("30 seconds"))], {
      concurrency: "unbounded"
    }).pipe(Effect.timeoutOption(minutes * 60_000))
    yield* Console.log("waiting for the end of all calls …")
    const left = () => ({
      calls: signaling.agent.size,
      timers: signaling.agent.dueAt === Number.POSITIVE_INFINITY ? 0 : 1,
      media: media.size(),
      descriptors: descriptors() - before.descriptors
    })
    const isOver = () => Object.values(left()).every((count) => count <= 0)
    yield* Effect.sync(isOver).pipe(
      Effect.repeat({ until: (over) => over, schedule: Schedule.spaced("500 millis") }),
      Effect.timeoutOption(settleMs)
    )
    yield* report
    yield* Console.log(JSON.stringify({ left: left(), heapMb: { before: before.heapMb, after: heldMb() } }))
    process.exitCode = isOver() ? 0 : 1
  })

const program = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-soak-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  writeCertificate(folder)
  const [own, other] = [yield* freePorts, yield* freePorts]
  let opened: Parts | undefined
  const layer = SipTelephony.layer(settingsOf(own, other, folder, "38500-38999"), quiet, {
    isAllowed: lossy,
    peerTimeouts: { silence: 3000, probe: 2000 },
    opened: (parts) => {
      opened = parts
    }
  })
  const parts = (): Parts => {
    if (opened === undefined) throw new Error("the plugin has not started")
    return opened
  }
  yield* Effect.provide(soak(own, other, folder, parts), layer)
})

await Effect.runPromise(Effect.scoped(program))
process.exit()
