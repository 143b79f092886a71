import { randomBytes } from "node:crypto"
import { monotonicMillis } from "@svc/providers/MonotonicTime"
import { Effect, type Scope } from "effect"
import type { MediaListener } from "./IncomingStream.ts"
import { type Family, familiesOf } from "./MediaAddress.ts"
import type { Law } from "./MediaParameters.ts"
import { PortRange, PortsExhausted } from "./PortRange.ts"
import { RtpSession } from "./RtpSession.ts"
import { bind, type RtpBindFailed, type RtpSocket } from "./RtpSocket.ts"

/** Sessions with digits or audio to send are ticked this often. */
const tickEvery = "20 millis"
/** The others are ticked in turns, one group after the other: with many calls it takes time to look at all of them. */
const groupCount = 5

/** The media of one call, with its ports. */
export interface RtpCall {
  /** The RTP port, for the session description; RTCP has the one above it. */
  readonly port: number
  readonly session: RtpSession
}

/** The RTP of a process. */
export interface RtpMedia {
  /** Opens a pair of ports. The end of the scope sends a BYE and closes them. */
  readonly open: (
    law: Law,
    listener: MediaListener
  ) => Effect.Effect<RtpCall, PortsExhausted | RtpBindFailed, Scope.Scope>
  /** Calls whose ports are open. */
  readonly size: () => number
  /** The families of addresses with which audio can be exchanged. */
  readonly families: ReadonlyArray<Family>
}

/**
 * `address`: the IP address of this machine, or `0.0.0.0` or `::` for all. `announced`: the address that all peers are given
 * instead. The ports belong to the range.
 */
export interface RtpMediaOptions {
  readonly address: string
  readonly announced?: string | undefined
  readonly firstPort: number
  readonly lastPort: number
}

const random = (): number => randomBytes(4).readUInt32BE() / 0x1_0000_0000

/** Sessions on the ports of a range, ticked by one fiber, which sleeps while there are none. */
export const make = ({
  address,
  announced,
  firstPort,
  lastPort
}: RtpMediaOptions): Effect.Effect<RtpMedia, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const now = (): number => monotonicMillis(clock)
    const wallNow = (): number => clock.unsafeCurrentTimeMillis()
    const ports = new PortRange(firstPort, lastPort)
    const groups = Array.from({ length: groupCount }, () => new Set<RtpSession>())
    /** Sessions with something to send. */
    const unsent = new Set<RtpSession>()
    let opened = 0
    let ticks = 0
    const size = (): number => groups.reduce((sum, group) => sum + group.size, 0)
    const hasSessions = yield* Effect.makeLatch()

    const tick = Effect.sync(() => {
      const at = now()
      for (const session of groups[ticks++ % groupCount] ?? []) if (!unsent.has(session)) session.tick(at)
      for (const session of unsent) {
        session.tick(at)
        if (!session.hasUnsent) unsent.delete(session)
      }
      if (size() === 0) hasSessions.unsafeClose()
    })
    yield* Effect.forkScoped(Effect.forever(hasSessions.whenOpen(Effect.zipRight(Effect.sleep(tickEvery), tick))))

    const bindPair = (port: number): Effect.Effect<readonly [RtpSocket, RtpSocket], RtpBindFailed> =>
      Effect.flatMap(bind(address, port), (rtp) =>
        bind(address, port + 1).pipe(
          Effect.map((rtcp) => [rtp, rtcp] as const),
          Effect.onError(() => Effect.sync(rtp.close))
        )
      )
    /** A pair that another program uses is left for later. Not interrupted, as it acquires. */
    const bindAny = Effect.gen(function* () {
      for (let left = ports.pairs; left > 0; left--) {
        const port = ports.take(now())
        if (port instanceof PortsExhausted) return yield* port
        const bound = yield* Effect.either(bindPair(port))
        if (bound._tag === "Right") return bound.right
        ports.release(port, now())
        if (bound.left.reason !== "EADDRINUSE") return yield* bound.left
      }
      return yield* new PortsExhausted({ first: firstPort, last: lastPort })
    })

    const openCall = (law: Law, listener: MediaListener) =>
      Effect.map(bindAny, ([rtp, rtcp]) => {
        const session: RtpSession = new RtpSession({
          law,
          listener,
          now,
          wallNow,
          random,
          onUnsent: () => unsent.add(session),
          cname: randomBytes(12).toString("base64"),
          send: (port, bytes, length, to) => (port === "rtp" ? rtp : rtcp).send(bytes, length, to)
        })
        rtp.listen((bytes, from, port) => session.receive(bytes, from, port))
        rtcp.listen((bytes, from, port) => session.receiveRtcp(bytes, from, port))
        const group = groups[opened++ % groupCount]
        group?.add(session)
        hasSessions.unsafeOpen()
        const close = (): void => {
          group?.delete(session)
          unsent.delete(session)
          session.close()
          rtp.close()
          rtcp.close()
          ports.release(rtp.port, now())
        }
        return { call: { port: rtp.port, session }, close }
      })

    return {
      open: (law, listener) =>
        Effect.map(
          Effect.acquireRelease(openCall(law, listener), ({ close }) => Effect.sync(close)),
          ({ call }) => call
        ),
      size,
      families: familiesOf(address, announced)
    }
  })
