import * as net from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Queue } from "effect"
import { answerNext, telephonyOf } from "./PeerCall.ts"

const rtpPorts = "32600-32699"

/** A connection of the peer, with the messages that it receives and its end. */
const connectionOf = (socket: net.Socket) =>
  Effect.map(Effect.all([Queue.unbounded<string>(), Deferred.make<void>()]), ([received, ended]) => {
    let text = ""
    socket.on("error", () => {})
    socket.on("data", (bytes) => {
      text += bytes.toString()
      for (let end = text.indexOf("\r\n\r\n"); end >= 0; end = text.indexOf("\r\n\r\n")) {
        const length = Number(/^Content-Length: *(\d+)/im.exec(text)?.[1] ?? 0)
        Queue.unsafeOffer(received, text.slice(0, end))
        text = text.slice(end + 4 + length)
      }
    })
    socket.on("end", () => Deferred.unsafeDone(ended, Effect.void))
    return { socket, received, ended: Deferred.await(ended) }
  })

const connect = (port: number) =>
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.async<net.Socket>((resume) => {
        const opened = net.connect({ port, host: "127.0.0.1" }, () => resume(Effect.succeed(opened)))
      }),
      (opened) => Effect.sync(() => opened.destroy())
    ),
    connectionOf
  )

/** A port that takes connections, as the peer's Contact. */
const contact = Effect.gen(function* () {
  const accepted = yield* Queue.unbounded<net.Socket>()
  const server = yield* Effect.acquireRelease(
    Effect.async<net.Server>((resume) => {
      const opened = net.createServer((socket) => Queue.unsafeOffer(accepted, socket))
      opened.listen(0, "127.0.0.1", () => resume(Effect.succeed(opened)))
    }),
    (opened) => Effect.sync(() => opened.close())
  )
  const address = server.address()
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    accepted: Effect.flatMap(Queue.take(accepted), (socket) =>
      Effect.zipRight(
        Effect.addFinalizer(() => Effect.sync(() => socket.destroy())),
        connectionOf(socket)
      )
    )
  }
})

const request = (
  method: string,
  options: { readonly contact?: number; readonly tag?: string; readonly body?: string; readonly length?: string } = {}
): string => {
  const { body = "", contact = 5060, length = `${body.length}`, tag = "" } = options
  return [
    `${method} sip:+4930@127.0.0.1 SIP/2.0`,
    `Via: SIP/2.0/TCP 127.0.0.1:${contact};branch=z9hG4bK${method}`,
    "From: <sip:1000@127.0.0.1>;tag=a",
    `To: <sip:+4930@127.0.0.1>${tag}`,
    "Call-ID: broken",
    `CSeq: 1 ${method}`,
    `Contact: <sip:1000@127.0.0.1:${contact}>`,
    "Max-Forwards: 70",
    ...(body === "" ? [] : ["Content-Type: application/sdp"]),
    `Content-Length: ${length}`,
    "",
    body
  ].join("\r\n")
}

const offer = [
  "v=0",
  "o=- 1 1 IN IP4 127.0.0.1",
  "s=-",
  "c=IN IP4 127.0.0.1",
  "t=0 0",
  "m=audio 32698 RTP/AVP 8",
  ""
].join("\r\n")

describe("A TCP connection whose stream is broken", () => {
  it.scopedLive("gets 400 to a request whose length is not known, and is closed", () =>
    Effect.gen(function* () {
      const { port } = yield* telephonyOf({ rtpPorts })
      const peer = yield* connect(port)
      peer.socket.write(request("OPTIONS", { length: "many" }))
      expect(yield* Queue.take(peer.received)).toMatch(/^SIP\/2\.0 400 /)
      yield* peer.ended
    })
  )

  it.scopedLive("leaves its calls: their requests go over a new connection to the Contact", () =>
    Effect.gen(function* () {
      const { port, telephony } = yield* telephonyOf({ rtpPorts })
      const ours = yield* contact
      const peer = yield* connect(port)
      const answered = yield* Effect.fork(answerNext(telephony))
      peer.socket.write(request("INVITE", { contact: ours.port, body: offer }))
      let answer = ""
      while (!answer.startsWith("SIP/2.0 200 ")) answer = yield* Queue.take(peer.received)
      const tag = /^To:[^\r]*(;tag=[^;\r]+)/im.exec(answer)?.[1] ?? ""
      peer.socket.write(request("ACK", { contact: ours.port, tag }))
      const { leg } = yield* answered.await.pipe(Effect.flatten)
      peer.socket.write("something else\r\n\r\n")
      yield* peer.ended
      leg.hangup("done")
      const next = yield* ours.accepted
      const bye = yield* Queue.take(next.received)
      expect(bye).toMatch(/^BYE /)
      expect(bye).toContain("Call-ID: broken")
    })
  )
})
