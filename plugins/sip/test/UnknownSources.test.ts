import * as dgram from "node:dgram"
import * as net from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Queue, Redacted } from "effect"
import { telephonyOf } from "./PeerCall.ts"

/** A UDP socket of a source, with what it receives. */
const source = (address: string) =>
  Effect.gen(function* () {
    const received = yield* Queue.unbounded<string>()
    const socket = yield* Effect.acquireRelease(
      Effect.async<dgram.Socket>((resume) => {
        const opened = dgram.createSocket("udp4")
        opened.bind(0, address, () => resume(Effect.succeed(opened)))
      }),
      (opened) => Effect.sync(() => opened.close())
    )
    socket.on("message", (bytes) => Queue.unsafeOffer(received, bytes.toString()))
    const send = (port: number, text: string): Effect.Effect<void> =>
      Effect.async((resume) => socket.send(text, port, "127.0.0.1", () => resume(Effect.void)))
    return { port: socket.address().port, received, send }
  })

/** A TCP connection from this address, once the other side answers something on it or closes it. */
const connection = (localAddress: string, port: number) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<net.Socket>((resume) => {
        const opened = net.connect({ port, host: "127.0.0.1", localAddress }, () => resume(Effect.succeed(opened)))
        opened.on("error", () => {})
      }),
      (opened) => Effect.sync(() => opened.destroy())
    ),
    (socket) => ({
      socket,
      first: Effect.async<string>((resume) => {
        socket.once("data", (bytes) => resume(Effect.succeed(bytes.toString())))
        socket.once("close", () => resume(Effect.succeed("closed")))
      })
    })
  )

let count = 0

const request = (method: string, port: number, ...more: ReadonlyArray<string>): string =>
  [
    `${method} sip:+4930@127.0.0.1 SIP/2.0`,
    `Via: SIP/2.0/UDP 127.0.0.1:${port};branch=z9hG4bK${method}${count++}`,
    "From: <sip:1000@127.0.0.1>;tag=a",
    "To: <sip:+4930@127.0.0.1>",
    `Call-ID: ${method}`,
    `CSeq: 1 ${method}`,
    `Contact: <sip:1000@127.0.0.1:${port}>`,
    "Max-Forwards: 70",
    ...more,
    "Content-Length: 0",
    "",
    ""
  ].join("\r\n")

/** What a scanner sends. */
const probes = (port: number): ReadonlyArray<string> => [
  request("OPTIONS", port),
  request("SUBSCRIBE", port),
  request("BYE", port),
  request("CANCEL", port),
  request("NOSUCH", port),
  request("INVITE", port, "To: twice"),
  "INVITE garbage",
  "\r\n\r\n",
  "SIP/2.0 200 OK\r\nCSeq: 1 INVITE\r\n\r\n"
]

describe("A source that is not allowed", () => {
  it.scopedLive("gets no answer to anything", () =>
    Effect.gen(function* () {
      const { logged, port } = yield* telephonyOf({ rtpPorts: "32500-32599", allow: "127.0.0.2" })
      const [scanner, allowed] = [yield* source("127.0.0.1"), yield* source("127.0.0.2")]
      const more = [request("INVITE", scanner.port), request("REGISTER", scanner.port)]
      for (const text of [...probes(scanner.port), ...more]) yield* scanner.send(port, text)
      // What came before has been read when this is answered.
      yield* allowed.send(port, request("OPTIONS", allowed.port))
      expect(yield* Queue.take(allowed.received)).toContain("SIP/2.0 200 OK")
      expect(yield* Queue.size(scanner.received)).toBe(0)
      const lines = logged.filter(({ message }) => message.startsWith("SIP from"))
      expect(lines).toMatchObject([{ message: expect.stringContaining("add the address to SVC_SIP_ALLOW") }])
    })
  )

  it.scopedLive("gets only a challenge, to INVITE and REGISTER, where phones have passwords", () =>
    Effect.gen(function* () {
      const { port } = yield* telephonyOf({ rtpPorts: "32500-32599", users: Redacted.make("anna:secret") })
      const scanner = yield* source("127.0.0.1")
      for (const text of probes(scanner.port)) yield* scanner.send(port, text)
      for (const method of ["INVITE", "REGISTER"]) {
        const sent = request(method, scanner.port)
        yield* scanner.send(port, sent)
        const answer = yield* Queue.take(scanner.received)
        expect(answer).toMatch(new RegExp(`^SIP/2\\.0 401 Unauthorized\r\n[\\s\\S]*CSeq: 1 ${method}\r\n`))
        expect(answer.length).toBeLessThan(3 * sent.length)
        const names = answer.split("\r\n").flatMap((line) => /^([\w-]+):/.exec(line)?.[1]?.toLowerCase() ?? [])
        expect(new Set(names)).toEqual(
          new Set(["via", "from", "to", "call-id", "cseq", "www-authenticate", "content-length"])
        )
      }
      expect(yield* Queue.size(scanner.received)).toBe(0)
    })
  )

  it.scopedLive("cannot take the connections of trunks and phones where phones have passwords", () =>
    Effect.gen(function* () {
      const { port } = yield* telephonyOf({
        rtpPorts: "32500-32599",
        users: Redacted.make("anna:secret"),
        allow: "127.0.0.2",
        transports: "tcp"
      })
      for (const source of ["127.0.1.1", "127.0.1.2", "127.0.1.3", "127.0.1.4", "127.0.1.5"]) {
        yield* Effect.forEach(Array.from({ length: 100 }), () =>
          Effect.map(connection(source, port), ({ socket }) =>
            socket.write("INVITE sip:+4930@127.0.0.1 SIP/2.0\r\nX: ")
          )
        )
      }
      const late = yield* connection("127.0.1.6", port)
      expect(yield* late.first).toBe("closed")
      const trunk = yield* connection("127.0.0.2", port)
      trunk.socket.write(request("INVITE", 5060).replace("SIP/2.0/UDP", "SIP/2.0/TCP"))
      expect(yield* trunk.first).toMatch(/^SIP\/2\.0 100 /)
    })
  )
})
