/**
 * Measures how many RTP sessions one process holds, both sides sending a frame every 20 ms. Run with
 * `node --import tsx --conditions=@svc/source plugins/sip/bench/RtpBench.ts [calls ...]`.
 * CPU is that of this process in % of a core; lateness is that of the packets as another process gets them.
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import * as RtpMedia from "../src/rtp/RtpMedia.ts"
import { pace } from "./FramePacer.ts"

const warmUpMs = 3000
const measuredMs = 10_000

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const run = (calls: number) =>
  Effect.gen(function* () {
    const peer = yield* Effect.acquireRelease(
      Effect.sync(() => fork(fileURLToPath(new URL("RtpBenchPeer.ts", import.meta.url)))),
      (started) => Effect.sync(() => started.kill())
    )
    const answer = Effect.promise(() => once(peer, "message").then(([message]) => message))
    peer.send({ calls })
    const { ports }: { readonly ports: ReadonlyArray<number> } = yield* answer
    const media = yield* RtpMedia.make({ address: "127.0.0.1", firstPort: 32_000, lastPort: 32_000 + 2 * calls + 99 })
    let heard = 0
    const opened = yield* Effect.forEach(ports, (port) =>
      Effect.tap(media.open("mulaw", { onAudio: () => heard++, onDigit: () => {} }), ({ session }) =>
        Effect.sync(() =>
          session.negotiate({
            remote: { address: "127.0.0.1", port },
            isRtcpMuxed: true,
            audio: [{ payloadType: 0, law: "mulaw" }],
            telephoneEvent: 101,
            packetTimeMs: 20,
            direction: "sendrecv"
          })
        )
      )
    )
    peer.send({ ports: opened.map(({ port }) => port) })
    const frame = new Uint8Array(160).fill(0x42)
    const stop = pace(
      opened.map(
        ({ session }) =>
          () =>
            session.send(frame)
      )
    )
    yield* Effect.promise(() => wait(warmUpMs))
    const loop = monitorEventLoopDelay({ resolution: 5 })
    loop.enable()
    peer.send({ measure: true })
    heard = 0
    const cpu = process.cpuUsage()
    const begin = performance.now()
    yield* Effect.promise(() => wait(measuredMs))
    const { system, user } = process.cpuUsage(cpu)
    const seconds = (performance.now() - begin) / 1000
    const own = heard
    peer.send({})
    const { p50, p99, received }: { readonly p50: number; readonly p99: number; readonly received: number } =
      yield* answer
    stop()
    const wanted = calls * 50 * seconds
    const columns = [
      String(calls).padStart(6),
      `${((user + system) / 1e4 / seconds).toFixed(0)} %`.padStart(7),
      `${p50.toFixed(1)} / ${p99.toFixed(1)} ms`.padStart(18),
      `${Math.max(0, loop.percentile(99) / 1e6 - 5).toFixed(1)} ms`.padStart(12),
      `${((received / wanted) * 100).toFixed(1)} / ${((own / wanted) * 100).toFixed(1)} %`.padStart(18),
      `${(process.memoryUsage().rss / 1e6).toFixed(0)} MB`.padStart(8)
    ]
    process.stdout.write(`${columns.join(" ")}\n`)
  }).pipe(Effect.scoped)

const given = process.argv.slice(2).map(Number)
process.stdout.write(" calls     CPU  lateness p50/p99  loop p99    frames out / in      memory\n")
await Effect.runPromise(Effect.forEach(given.length > 0 ? given : [100, 300, 500, 800, 1000], run, { discard: true }))
