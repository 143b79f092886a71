import * as dgram from "node:dgram"
import { Effect, Queue } from "effect"
import * as Dialog from "../src/dialog/Dialog.ts"
import * as Message from "../src/message/Message.ts"
import * as Parser from "../src/message/Parser.ts"
import { serialize } from "../src/message/Serializer.ts"

/** A UDP socket with what it receives. */
const socketOn = (at: number) =>
  Effect.gen(function* () {
    const received = yield* Queue.unbounded<Buffer>()
    const socket = yield* Effect.acquireRelease(
      Effect.async<dgram.Socket>((resume) => {
        const opened = dgram.createSocket("udp4")
        opened.bind(at, "127.0.0.1", () => resume(Effect.succeed(opened)))
      }),
      (opened) => Effect.sync(() => opened.close())
    )
    socket.on("message", (bytes) => Queue.unsafeOffer(received, bytes))
    return { socket, received }
  })

/** A trunk that does what a test says. Without a port its peer is the one whose message came last. */
export const scriptedTrunk = (givenPort?: number, givenTrunkPort = 0) =>
  Effect.gen(function* () {
    const { received, socket } = yield* socketOn(givenTrunkPort)
    const trunkPort = socket.address().port
    let port = givenPort ?? 0
    if (givenPort === undefined) {
      socket.prependListener("message", (_, from) => {
        port = from.port
      })
    }
    const rtp = yield* socketOn(0)
    const next = Effect.map(Queue.take(received), (bytes) => {
      const parsed = Parser.parse(bytes)
      if (parsed._tag !== "Message") throw new Error(parsed.reason)
      return parsed.message
    })
    /** The next request of this method; others are skipped. */
    const request = (method: string): Effect.Effect<Message.Request> =>
      Effect.flatMap(next, (message) =>
        message._tag === "Request" && message.method === method ? Effect.succeed(message) : request(method)
      )
    /** The next final response to a request of this method. */
    const response = (method: string): Effect.Effect<Message.Response> =>
      Effect.flatMap(next, (message) =>
        message._tag === "Response" && message.status >= 200 && Message.cseq(message)?.method === method
          ? Effect.succeed(message)
          : response(method)
      )
    const send = (message: Message.Message): void => {
      socket.send(serialize(message), port, "127.0.0.1")
    }
    const sdp = Buffer.from(
      `v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio ${rtp.socket.address().port} RTP/AVP 8\r\n`
    )
    const contact = { name: "contact", value: `<sip:trunk@127.0.0.1:${trunkPort}>` }
    const respond = (to: Message.Request, status: number, headers: Message.Headers = [], body?: Uint8Array): void => {
      const typed = body === undefined ? [] : [{ name: "content-type", value: "application/sdp" }]
      const content = { headers: [contact, ...headers, ...typed], ...(body === undefined ? {} : { body }) }
      send(Dialog.respond(to, status, "R", "trunk", content))
    }
    /** The ACK of a 2xx to a request of ours with this number. */
    const acknowledge = (to: Message.Response, number: number): void =>
      send({
        _tag: "Request",
        method: "ACK",
        uri: `sip:127.0.0.1:${port}`,
        headers: [
          { name: "via", value: `SIP/2.0/UDP 127.0.0.1:${trunkPort};branch=z9hG4bKack${number}` },
          ...to.headers.filter(({ name }) => name === "from" || name === "to" || name === "call-id"),
          { name: "cseq", value: `${number} ACK` }
        ],
        body: Message.noBody
      })
    /** Waits until all that was sent before has been read. */
    const ping = Effect.suspend(() => {
      send({
        _tag: "Request",
        method: "OPTIONS",
        uri: `sip:127.0.0.1:${port}`,
        headers: [
          { name: "via", value: `SIP/2.0/UDP 127.0.0.1:${trunkPort};branch=z9hG4bKping` },
          { name: "from", value: "<sip:trunk@127.0.0.1>;tag=ping" },
          { name: "to", value: "<sip:127.0.0.1>" },
          { name: "call-id", value: "ping" },
          { name: "cseq", value: "1 OPTIONS" }
        ],
        body: Message.noBody
      })
      return response("OPTIONS")
    })
    return { acknowledge, next, ping, port: trunkPort, request, respond, response, rtp: rtp.socket, sdp, send }
  })
