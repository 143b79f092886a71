import * as net from "node:net"
import { describe, expect, it } from "@effect/vitest"
import type { Telephony } from "@svc/providers/Telephony"
import { Effect, Fiber } from "effect"
import * as Dialog from "../src/dialog/Dialog.ts"
import * as Message from "../src/message/Message.ts"
import * as Parser from "../src/message/Parser.ts"
import { serialize } from "../src/message/Serializer.ts"
import type { Names, Service } from "../src/transport/Locator.ts"
import { telephonyOf } from "./PeerCall.ts"
import { scriptedTrunk } from "./ScriptedTrunk.ts"

const formats = [{ encoding: "alaw", sampleRate: 8000 }] as const

const dial = ({ outbound }: typeof Telephony.Service) =>
  outbound === undefined
    ? Effect.dieMessage("no trunk")
    : outbound.dial({ callId: "call", to: "+4930", from: "+4989", formats })

/** DNS that names servers on these ports for a transport, the first one preferred. */
const namesOf = (ports: () => ReadonlyArray<number>, transport = "udp"): Names => ({
  services: (name) =>
    Effect.sync(() =>
      name === `_sip._${transport}.trunk.example`
        ? ports().map((port, priority): Service => ({ host: "a.example", port, priority, weight: 1 }))
        : []
    ),
  addresses: (name) => Effect.succeed(name === "a.example" ? ["127.0.0.1"] : [])
})

/** A port on which nothing listens. */
const deadPort = Effect.scoped(Effect.map(scriptedTrunk(), ({ port }) => port))

/** The port of a TCP server that answers each INVITE with 486. */
const busyTcpServer = Effect.acquireRelease(
  Effect.async<net.Server>((resume) => {
    const server = net.createServer((socket) => {
      socket.on("data", (bytes) => {
        const parsed = Parser.parse(bytes, true)
        if (parsed._tag !== "Message" || parsed.message._tag !== "Request") return
        if (parsed.message.method === "INVITE") {
          socket.write(serialize(Dialog.respond(parsed.message, 486, "Busy Here", "tag")))
        }
      })
    })
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.sync(() => server.close())
).pipe(
  Effect.map((server) => {
    const address = server.address()
    return typeof address === "object" && address !== null ? address.port : 0
  })
)

const settings = { trunkUri: "sip:trunk.example", rtpPorts: "32100-32199" }

describe("The servers that DNS names for a trunk", () => {
  it.scopedLive("are tried one after the other on 503, and a call that is busy ends", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* scriptedTrunk(), yield* scriptedTrunk()]
      const names = namesOf(() => [first.port, second.port])
      const { telephony } = yield* telephonyOf(settings, { names })
      const call = yield* Effect.fork(Effect.flip(dial(telephony)))
      const refused = yield* first.request("INVITE")
      first.respond(refused, 100)
      first.respond(refused, 503, [{ name: "retry-after", value: "60 (maintenance)" }])
      yield* first.request("ACK")
      const again = yield* second.request("INVITE")
      expect(again.uri).toBe(refused.uri)
      for (const name of ["call-id", "cseq", "from"]) {
        expect(Message.header(again, name)).toBe(Message.header(refused, name))
      }
      expect(Message.header(again, "via")).not.toBe(Message.header(refused, "via"))
      second.respond(again, 486)
      expect(yield* Fiber.join(call)).toMatchObject({ outcome: "busy", code: "486" })
      // The first one has asked for a pause.
      const next = yield* Effect.fork(Effect.flip(dial(telephony)))
      second.respond(yield* second.request("INVITE"), 486)
      yield* Fiber.join(next)
    })
  )

  it.scopedLive("are tried one after the other when a connection is refused", () =>
    Effect.gen(function* () {
      const [dead, busy] = [yield* deadPort, yield* busyTcpServer]
      const { telephony } = yield* telephonyOf(settings, { names: namesOf(() => [dead, busy], "tcp") })
      expect(yield* Effect.flip(dial(telephony))).toMatchObject({ outcome: "busy", code: "486" })
    })
  )

  it.scopedLive("are asked from DNS for each call, so that a record that has changed is used", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* scriptedTrunk(), yield* scriptedTrunk()]
      let ports = [first.port]
      const { telephony } = yield* telephonyOf(settings, { names: namesOf(() => ports) })
      for (const trunk of [first, second]) {
        ports = [trunk.port]
        const call = yield* Effect.fork(Effect.flip(dial(telephony)))
        trunk.respond(yield* trunk.request("INVITE"), 486)
        yield* Fiber.join(call)
      }
    })
  )
})
