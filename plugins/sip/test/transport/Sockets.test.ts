import * as dgram from "node:dgram"
import * as net from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Queue } from "effect"
import type { Source } from "../../src/transport/Connections.ts"
import * as Tcp from "../../src/transport/Tcp.ts"
import * as Udp from "../../src/transport/Udp.ts"

const message = (callId: string): string =>
  `OPTIONS sip:a@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/TCP 127.0.0.1;branch=z9hG4bK1\r\nCall-ID: ${callId}\r\nContent-Length: 0\r\n\r\n`

const callIdOf = (bytes: Uint8Array): string => /Call-ID: (\S+)/.exec(Buffer.from(bytes).toString())?.[1] ?? ""

/** A client's connection, with what it receives. */
const connect = (port: number, localAddress = "127.0.0.1", allowHalfOpen = false) =>
  Effect.gen(function* () {
    const received = yield* Queue.unbounded<string>()
    const closed = yield* Deferred.make<void>()
    const socket = yield* Effect.acquireRelease(
      Effect.async<net.Socket>((resume) => {
        const opened = net.connect({ port, host: "127.0.0.1", localAddress, allowHalfOpen }, () =>
          resume(Effect.succeed(opened))
        )
      }),
      (opened) => Effect.sync(() => opened.destroy())
    )
    socket.on("data", (chunk) => Queue.unsafeOffer(received, chunk.toString()))
    socket.on("error", () => {})
    socket.on("close", () => Deferred.unsafeDone(closed, Effect.void))
    return { socket, received, closed: Deferred.await(closed) }
  })

const listening = (
  isAllowed: (address: string) => boolean = () => true,
  options: Partial<Pick<Tcp.TcpOptions, "isKnown" | "messageMs">> = {}
) =>
  Effect.gen(function* () {
    const messages = yield* Queue.unbounded<readonly [string, Source]>()
    const onMessage = (bytes: Uint8Array, from: Source): boolean => {
      Queue.unsafeOffer(messages, [callIdOf(bytes), from])
      return options.isKnown?.(from.address) !== false || callIdOf(bytes).startsWith("password")
    }
    const tcp = yield* Tcp.listen({ address: "127.0.0.1", port: 0, isAllowed, onMessage, ...options })
    return { tcp, messages }
  })

describe("Tcp", () => {
  it.live("cuts messages from the stream, answers pings, and answers on the same connection", () =>
    Effect.gen(function* () {
      const { messages, tcp } = yield* listening()
      const client = yield* connect(tcp.port)
      client.socket.write(`${message("one")}\r\n\r\n${message("two").slice(0, 50)}`)
      const [first, from] = yield* Queue.take(messages)
      expect(first).toBe("one")
      expect(yield* Queue.take(client.received)).toBe("\r\n")
      client.socket.write(message("two").slice(50))
      expect((yield* Queue.take(messages))[0]).toBe("two")
      tcp.send(Buffer.from("answer"), from, () => {})
      expect(yield* Queue.take(client.received)).toBe("answer")
    }).pipe(Effect.scoped)
  )

  it.live("closes a connection whose stream cannot be read any further, after the message was passed", () =>
    Effect.gen(function* () {
      const { messages, tcp } = yield* listening()
      const client = yield* connect(tcp.port)
      client.socket.write(message("bad").replace("Content-Length: 0", "Content-Length: -1"))
      expect((yield* Queue.take(messages))[0]).toBe("bad")
      yield* client.closed
    }).pipe(Effect.scoped)
  )

  it.live("tears down a broken connection that the peer keeps open, and takes nothing more from it", () =>
    Effect.gen(function* () {
      const { messages, tcp } = yield* listening()
      const client = yield* connect(tcp.port, "127.0.0.1", true)
      client.socket.write(message("bad").replace("Content-Length: 0\r\n", ""))
      const [bad] = yield* Queue.take(messages)
      yield* Effect.forkScoped(
        Effect.sync(() => client.socket.write(message("later"))).pipe(Effect.zipRight(Effect.sleep(20)), Effect.forever)
      )
      yield* client.closed
      expect([bad, yield* Queue.size(messages)]).toEqual(["bad", 0])
    }).pipe(Effect.scoped)
  )

  it.live("closes a connection on which something else than SIP comes", () =>
    Effect.gen(function* () {
      const { tcp } = yield* listening()
      const client = yield* connect(tcp.port)
      client.socket.write("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n")
      yield* client.closed
    }).pipe(Effect.scoped)
  )

  it.live("sends over a new connection at once when the stream of the former one is broken", () =>
    Effect.gen(function* () {
      const { messages: ours, tcp } = yield* listening()
      const { messages: theirs, tcp: trunk } = yield* listening()
      const to = { address: "127.0.0.1", port: trunk.port }
      tcp.send(Buffer.from(message("first")), to, () => {})
      const [, first] = yield* Queue.take(theirs)
      trunk.send(Buffer.from("nothing of SIP\r\n\r\n"), first, () => {})
      const [, broken] = yield* Queue.take(ours)
      let failed = ""
      tcp.send(Buffer.from(message("second")), { ...to, connection: broken.connection }, (reason) => {
        failed = reason
      })
      const [id, second] = yield* Queue.take(theirs)
      expect([id, failed, second.connection === first.connection]).toEqual(["second", "", false])
    }).pipe(Effect.scoped)
  )

  it.live("closes connections of addresses that are not allowed, and more than 100 of one", () =>
    Effect.gen(function* () {
      const closedOne = yield* listening(() => false)
      yield* (yield* connect(closedOne.tcp.port)).closed
      const { messages, tcp } = yield* listening()
      const clients = yield* Effect.forEach(Array.from({ length: 101 }), () => connect(tcp.port))
      const last = clients.at(-1)
      if (last !== undefined) yield* last.closed
      clients[0]?.socket.write(message("still"))
      expect((yield* Queue.take(messages))[0]).toBe("still")
    }).pipe(Effect.scoped)
  )

  it.live("closes a connection whose message is not complete in time, though bytes of it come, and keeps others", () =>
    Effect.gen(function* () {
      const { messages, tcp } = yield* listening(() => true, { messageMs: 200 })
      const [slow, slowLater, good] = [yield* connect(tcp.port), yield* connect(tcp.port), yield* connect(tcp.port)]
      slowLater.socket.write(message("first"))
      expect((yield* Queue.take(messages))[0]).toBe("first")
      good.socket.write(message("good"))
      expect((yield* Queue.take(messages))[0]).toBe("good")
      yield* Effect.forkScoped(
        Effect.sync(() => [slow, slowLater].map(({ socket }) => socket.write("X"))).pipe(
          Effect.zipRight(Effect.sleep(20)),
          Effect.forever
        )
      )
      yield* slow.closed
      yield* slowLater.closed
      good.socket.write(message("still"))
      expect((yield* Queue.take(messages))[0]).toBe("still")
    }).pipe(Effect.scoped)
  )

  it.live("closes connections of strangers that do not prove who they are, and keeps those that do", () =>
    Effect.gen(function* () {
      const { messages, tcp } = yield* listening(() => true, { messageMs: 200, isKnown: () => false })
      const [silent, talking, phone] = [yield* connect(tcp.port), yield* connect(tcp.port), yield* connect(tcp.port)]
      yield* Effect.forkScoped(
        Effect.sync(() => talking.socket.write(message("stranger"))).pipe(
          Effect.zipRight(Effect.sleep(20)),
          Effect.forever
        )
      )
      phone.socket.write(message("password"))
      yield* silent.closed
      yield* talking.closed
      phone.socket.write(message("password-again"))
      expect(
        yield* Effect.repeat(
          Effect.map(Queue.take(messages), ([id]) => id),
          { until: (id) => id === "password-again" }
        )
      ).toBe("password-again")
    }).pipe(Effect.scoped)
  )

  it.live("takes at most 500 connections of strangers, so that known peers connect", () =>
    Effect.gen(function* () {
      const { messages, tcp } = yield* listening(() => true, { isKnown: (address) => address === "127.0.0.2" })
      const sources = ["127.0.1.1", "127.0.1.2", "127.0.1.3", "127.0.1.4", "127.0.1.5", "127.0.1.6"]
      const strangers = yield* Effect.forEach(sources, (source) =>
        Effect.forEach(Array.from({ length: 100 }), () => connect(tcp.port, source))
      )
      for (const stranger of strangers[5] ?? []) yield* stranger.closed
      const trunk = yield* connect(tcp.port, "127.0.0.2")
      trunk.socket.write(message("trunk"))
      expect((yield* Queue.take(messages))[0]).toBe("trunk")
      // Who has proven it is a stranger no more, and leaves room for another.
      const [phone] = strangers[0] ?? []
      phone?.socket.write(message("password"))
      expect((yield* Queue.take(messages))[0]).toBe("password")
      const next = yield* connect(tcp.port, "127.0.1.6")
      next.socket.write(message("next"))
      expect((yield* Queue.take(messages))[0]).toBe("next")
    }).pipe(Effect.scoped)
  )

  it.live("reports that a message could not be sent", () =>
    Effect.gen(function* () {
      const { tcp } = yield* listening()
      const failed = yield* Deferred.make<void>()
      // A port on which nothing listens: that of a server which has been closed.
      const port = yield* Effect.scoped(Effect.map(listening(), (other) => other.tcp.port))
      tcp.send(Buffer.from("x"), { address: "127.0.0.1", port }, () => Deferred.unsafeDone(failed, Effect.void))
      yield* Deferred.await(failed)
    }).pipe(Effect.scoped)
  )

  it.live("fails with the system's code when the port is taken", () =>
    Effect.gen(function* () {
      const { tcp } = yield* listening()
      const error = yield* Effect.flip(
        Tcp.listen({ address: "127.0.0.1", port: tcp.port, isAllowed: () => true, onMessage: () => true })
      )
      expect(error).toMatchObject({ transport: "tcp", code: "EADDRINUSE" })
    }).pipe(Effect.scoped)
  )
})

describe("Udp", () => {
  it.live("passes datagrams with their source, sends, and drops what has no address of its family", () =>
    Effect.gen(function* () {
      const received = yield* Queue.unbounded<readonly [string, string, number]>()
      const udp = yield* Udp.listen("127.0.0.1", 0, (bytes, address, port) =>
        Queue.unsafeOffer(received, [Buffer.from(bytes).toString(), address, port])
      )
      const answers = yield* Queue.unbounded<string>()
      const client = yield* Effect.acquireRelease(
        Effect.async<dgram.Socket>((resume) => {
          const socket = dgram.createSocket("udp4")
          socket.bind(0, "127.0.0.1", () => resume(Effect.succeed(socket)))
        }),
        (socket) => Effect.sync(() => socket.close())
      )
      client.on("message", (bytes) => Queue.unsafeOffer(answers, bytes.toString()))
      client.send("hello", udp.port, "127.0.0.1")
      const [text, address, port] = yield* Queue.take(received)
      expect([text, address, port]).toEqual(["hello", "127.0.0.1", client.address().port])
      udp.send(Buffer.from("x"), "2001:db8::1", 5060)
      udp.send(Buffer.from("x"), "no address", 5060)
      udp.send(Buffer.from("answer"), address, port)
      expect(yield* Queue.take(answers)).toBe("answer")
      const error = yield* Effect.flip(Udp.listen("127.0.0.1", udp.port, () => {}))
      expect(error).toMatchObject({ transport: "udp", code: "EADDRINUSE" })
    }).pipe(Effect.scoped)
  )
})
