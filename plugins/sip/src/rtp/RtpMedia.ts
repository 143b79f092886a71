import { randomBytes } from "node:crypto"
import { monotonicMillis } from "@svc/providers/MonotonicTime"
import { Effect, type Scope } from "effect"
import type { MediaListener } from "./IncomingStream.ts"
import { type Family, familiesOf } from "./MediaAddress.ts"
import type { Law } from "./MediaParameters.ts"
import { PortRange, PortsExhausted } from "./PortRange.ts"
import { RtpSession } from "./RtpSession.ts"
import { bind, type RtpBindFailed, type RtpSocket } from "./RtpSocket.ts"

/** How often the sessions send for which something waits. */
const tickEvery = "20 millis"
/** Each of the others is looked at in one of so many ticks: with many calls it takes time to look at all of them. */
const tickGroups = 5

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
    const sessions = new Set<RtpSession>()
    const hasSessions = yield* Effect.makeLatch()

    const waiting = new Set<RtpSession>()
    let group = 0
    const tick = Effect.sync(() => {
      const at = now()
      for (const session of waiting) {
        session.tick(at)
        if (!session.isWaiting) waiting.delete(session)
      }
      group = (group + 1) % tickGroups
      let index = 0
      for (const session of sessions) if (index++ % tickGroups === group) session.tick(at)
      if (sessions.size === 0) hasSessions.unsafeClose()
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
          onWaiting: () => waiting.add(session),
          cname: randomBytes(12).toString("base64"),
          send: (port, bytes, length, to) => (port === "rtp" ? rtp : rtcp).send(bytes, length, to)
        })
        rtp.listen((bytes, from, port) => session.receive(bytes, from, port))
        rtcp.listen((bytes, from, port) => session.receiveRtcp(bytes, from, port))
        sessions.add(session)
        hasSessions.unsafeOpen()
        const close = (): void => {
          sessions.delete(session)
          waiting.delete(session)
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
      size: () => sessions.size,
      families: familiesOf(address, announced)
    }
  })
