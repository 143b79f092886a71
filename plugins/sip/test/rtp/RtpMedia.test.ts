import * as dgram from "node:dgram"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Scope, TestClock } from "effect"
import type { MediaListener } from "../../src/rtp/IncomingStream.ts"
import { PortsExhausted } from "../../src/rtp/PortRange.ts"
import * as RtpMedia from "../../src/rtp/RtpMedia.ts"
import { isRtcp, writeRtpHeader } from "../../src/rtp/RtpPacket.ts"
import { frame, parameters } from "./VirtualMedia.ts"

const silent: MediaListener = { onAudio: () => {}, onDigit: () => {} }

/** A socket of someone else, and the datagrams that it gets. */
const socketOn = (address: string) =>
  Effect.acquireRelease(
    Effect.async<dgram.Socket>((resume) => {
      const socket = dgram.createSocket(address.includes(":") ? "udp6" : "udp4")
      socket.bind(0, address, () => resume(Effect.succeed(socket)))
    }),
    (socket) => Effect.sync(() => socket.close())
  )

const nextDatagram = (socket: dgram.Socket, isWanted: (bytes: Uint8Array) => boolean = () => true) =>
  Effect.async<{ readonly bytes: Uint8Array; readonly port: number }>((resume) => {
    const onMessage = (bytes: Buffer, { port }: dgram.RemoteInfo) => {
      if (!isWanted(bytes)) return
      socket.off("message", onMessage)
      resume(Effect.succeed({ bytes, port }))
    }
    socket.on("message", onMessage)
  })

/** A listener that completes with the first audio that is no silence. */
const listening = Effect.map(Deferred.make<number>(), (heard) => ({
  heard: Deferred.await(heard),
  listener: {
    ...silent,
    onAudio: (payload: Uint8Array) => {
      const label = payload[0] ?? 0
      if (label !== 0xff) Effect.runSync(Deferred.succeed(heard, label))
    }
  }
}))

/** Port ranges of the tests of this file lie apart, because a port rests after its use. */
const rangeAt = (first: number, last: number, address = "127.0.0.1") =>
  RtpMedia.make({ address, firstPort: first, lastPort: last })

describe("RTP on sockets", () => {
  for (const [bound, remote] of [
    ["127.0.0.1", "127.0.0.1"],
    ["::1", "::1"],
    ["::", "127.0.0.1"],
    ["0.0.0.0", "127.0.0.1"]
  ] as const) {
    it.scopedLive(`carries audio between two calls, bound to ${bound}, to ${remote}`, () =>
      Effect.gen(function* () {
        const media = yield* rangeAt(31_000, 31_099, bound)
        const [a, b] = [yield* listening, yield* listening]
        const one = yield* media.open("mulaw", a.listener)
        const other = yield* media.open("mulaw", b.listener)
        one.session.negotiate(parameters({ address: remote, port: other.port }))
        other.session.negotiate(parameters({ address: remote, port: one.port }))
        one.session.send(frame(4))
        other.session.send(frame(8))
        expect(yield* Effect.all([a.heard, b.heard])).toEqual([9, 5])
        expect(one.port % 2).toBe(0)
        expect(one.session.dropped).toEqual({ malformed: 0, unknownType: 0, unauthenticated: 0, foreign: 0 })
      })
    )
  }

  it.scopedLive("sends RTCP from the port above, and at the end a BYE", () =>
    Effect.gen(function* () {
      const media = yield* rangeAt(31_100, 31_119)
      const peer = yield* socketOn("127.0.0.1")
      const { port } = peer.address()
      const scope = yield* Scope.make()
      const call = yield* Scope.extend(media.open("mulaw", silent), scope)
      const report = yield* Effect.fork(nextDatagram(peer, isRtcp))
      yield* Effect.yieldNow()
      call.session.negotiate(
        parameters({ address: "127.0.0.1", port: 9 }, { remoteRtcp: { address: "127.0.0.1", port } })
      )
      yield* Scope.close(scope, Exit.void)
      const { bytes, port: from } = yield* report
      expect(from).toBe(call.port + 1)
      // The last packet of the compound one.
      expect(bytes[bytes.length - 7]).toBe(203)
      expect(media.size()).toBe(0)
    })
  )

  it.scopedLive("counts a stranger's packets, and sends them nothing", () =>
    Effect.gen(function* () {
      const media = yield* rangeAt(31_120, 31_139)
      const { heard, listener } = yield* listening
      const peer = yield* socketOn("127.0.0.1")
      const stranger = yield* socketOn("127.0.0.1")
      let answers = 0
      stranger.on("message", () => answers++)
      const call = yield* media.open("mulaw", listener)
      call.session.negotiate(parameters({ address: "127.0.0.1", port: peer.address().port }))
      const send = (from: dgram.Socket, sequence: number, label: number) =>
        Effect.async<void>((resume) => {
          const bytes = new Uint8Array(172).fill(label)
          writeRtpHeader(bytes, 0, false, sequence, sequence * 160, 5)
          from.send(bytes, call.port, "127.0.0.1", () => resume(Effect.void))
        })
      yield* send(peer, 1, 0xff)
      for (let index = 0; index < 50; index++) yield* send(stranger, 2 + index, 77)
      yield* send(peer, 2, 88)
      expect(yield* heard).toBe(88)
      expect(call.session.dropped.foreign).toBe(50)
      expect(answers).toBe(0)
    })
  )

  it.scopedLive("survives a peer whose port is closed, and addresses to which it cannot send", () =>
    Effect.gen(function* () {
      const media = yield* rangeAt(31_140, 31_159)
      const { heard, listener } = yield* listening
      const gone = yield* Effect.scoped(Effect.map(socketOn("127.0.0.1"), (socket) => socket.address().port))
      const one = yield* media.open("mulaw", silent)
      const other = yield* media.open("mulaw", listener)
      for (const remote of [
        { address: "127.0.0.1", port: gone },
        { address: "2001:db8::1", port: 4000 },
        { address: "255.255.255.255", port: 4000 },
        { address: "127.0.0.1", port: 0 },
        { address: "127.0.0.1", port: 65_535 }
      ]) {
        one.session.negotiate(parameters(remote))
        for (let index = 0; index < 20; index++) one.session.send(frame(index))
      }
      one.session.negotiate(parameters({ address: "127.0.0.1", port: other.port }))
      other.session.negotiate(parameters({ address: "127.0.0.1", port: one.port }))
      one.session.send(frame(4))
      expect(yield* heard).toBe(5)
    })
  )

  it.scopedLive("leaves out ports that another program uses", () =>
    Effect.gen(function* () {
      const taken = yield* Effect.acquireRelease(
        Effect.async<dgram.Socket>((resume) => {
          const socket = dgram.createSocket("udp4")
          socket.bind(31_161, "127.0.0.1", () => resume(Effect.succeed(socket)))
        }),
        (socket) => Effect.sync(() => socket.close())
      )
      expect(taken.address().port).toBe(31_161)
      const media = yield* rangeAt(31_160, 31_163)
      expect((yield* media.open("mulaw", silent)).port).toBe(31_162)
      expect(yield* Effect.flip(media.open("mulaw", silent))).toBeInstanceOf(PortsExhausted)
    })
  )

  it.scopedLive("fails at once with an address that this machine does not have", () =>
    Effect.gen(function* () {
      const media = yield* rangeAt(31_164, 31_199, "192.0.2.1")
      const error = yield* Effect.flip(media.open("mulaw", silent))
      expect(error).toMatchObject({
        _tag: "RtpBindFailed",
        address: "192.0.2.1",
        port: 31_164,
        reason: "EADDRNOTAVAIL"
      })
      expect(error.message).toContain("31164 on 192.0.2.1")
    })
  )

  it.scoped("sends what is due while calls are open, without a frame from outside", () =>
    Effect.gen(function* () {
      const media = yield* rangeAt(31_200, 31_219)
      const peer = yield* socketOn("127.0.0.1")
      const { port } = peer.address()
      const call = yield* media.open("mulaw", silent)
      call.session.negotiate(parameters({ address: "127.0.0.1", port }, { isRtcpMuxed: true }))
      const report = yield* Effect.fork(nextDatagram(peer, isRtcp))
      yield* Effect.yieldNow()
      yield* TestClock.adjust("3200 millis")
      expect((yield* report).port).toBe(call.port)
    })
  )

  it.scoped("sends digits every 20 ms, and soon what does not fill a packet", () =>
    Effect.gen(function* () {
      const media = yield* rangeAt(31_240, 31_279)
      const peer = yield* socketOn("127.0.0.1")
      const { port } = peer.address()
      const remote = { address: "127.0.0.1", port }
      yield* Effect.forEach([1, 2, 3, 4], () => media.open("mulaw", silent))
      const dialing = yield* media.open("mulaw", silent)
      dialing.session.negotiate(parameters(remote, { telephoneEvent: 101 }))
      yield* Effect.forEach([1, 2, 3], () => media.open("mulaw", silent))
      const speaking = yield* media.open("mulaw", silent)
      speaking.session.negotiate(parameters(remote, { packetTimeMs: 30 }))
      const durations: Array<number> = []
      peer.on("message", (bytes) => {
        if (((bytes[1] ?? 0) & 0x7f) === 101) durations.push(bytes.readUInt16BE(14) / 8)
      })
      const fullPacket = yield* Effect.fork(nextDatagram(peer, (bytes) => bytes.length === 12 + 240 && bytes[12] === 5))
      yield* Effect.yieldNow()
      dialing.session.sendDigits("5")
      speaking.session.send(frame(4))
      for (let at = 20; at <= 140; at += 20) yield* TestClock.adjust("20 millis")
      const { bytes } = yield* fullPacket
      expect([bytes[171], bytes[172], bytes[251]]).toEqual([5, 0xff, 0xff])
      expect(durations).toEqual([20, 40, 60, 80, 100, 100, 100])
    })
  )

  it.scoped("begins comfort noise within 160 ms in each of many calls, also while others end", () =>
    Effect.gen(function* () {
      const media = yield* rangeAt(31_280, 31_319)
      const peer = yield* socketOn("127.0.0.1")
      const noise = new Set<number>()
      const arrived = yield* Deferred.make<void>()
      peer.on("message", (bytes) => {
        if (((bytes[1] ?? 0) & 0x7f) === 13) noise.add(bytes.readUInt32BE(8))
        if (noise.size === 7) Effect.runSync(Deferred.succeed(arrived, undefined))
      })
      const ending = yield* Scope.make()
      const open = Effect.gen(function* () {
        yield* Scope.extend(media.open("mulaw", silent), ending)
        return yield* media.open("mulaw", silent)
      })
      const calls = yield* Effect.all(Array.from({ length: 7 }, () => open))
      yield* Scope.close(ending, Exit.void)
      for (const { session } of calls) {
        session.negotiate(parameters({ address: "127.0.0.1", port: peer.address().port }, { comfortNoise: 13 }))
        session.send(frame(4))
      }
      for (let at = 20; at <= 160; at += 20) yield* TestClock.adjust("20 millis")
      yield* Deferred.await(arrived)
      expect(noise.size).toBe(7)
    })
  )

  it.scoped("opens and closes two hundred calls on ten pairs of ports without a leak", () =>
    Effect.gen(function* () {
      const media = yield* rangeAt(31_220, 31_239)
      for (let round = 0; round < 20; round++) {
        const ports = yield* Effect.scoped(
          Effect.map(Effect.all(Array.from({ length: 10 }, () => media.open("mulaw", silent))), (calls) =>
            calls.map(({ port }) => port)
          )
        )
        expect(new Set(ports).size).toBe(10)
        expect(media.size()).toBe(0)
        expect(yield* Effect.flip(media.open("mulaw", silent))).toBeInstanceOf(PortsExhausted)
        yield* TestClock.adjust("5 seconds")
      }
    })
  )
})
