import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { expect, it } from "@effect/vitest"
import { ConfigProvider, Effect, Option } from "effect"
import { status } from "../../src/commands/SipStatus.ts"

const idle = {
  version: 1,
  listening: { address: "0.0.0.0", port: 5060, transports: ["udp", "tcp"] },
  trunks: [],
  calls: [],
  ended: { calls: 0, packets_lost: 0, packets_late: 0 },
  ignored: []
}

const busy = {
  ...idle,
  trunks: [
    { trunk: "sip:sip.example.com:5060", state: "registered", next_register_in_seconds: 241, last_error: null },
    { trunk: "sip:other.example.com", state: "failed", next_register_in_seconds: 20, last_error: "403 Forbidden" }
  ],
  calls: [
    {
      direction: "outbound",
      from: "+31…678",
      to: "+49…321",
      state: "answered",
      seconds: 3725,
      codec: "PCMA",
      packets_lost: 12_345,
      packets_late: 123,
      jitter_ms: 12.34
    },
    {
      direction: "inbound",
      from: null,
      to: "…01",
      state: "ringing",
      seconds: 3,
      codec: null,
      packets_lost: null,
      packets_late: null,
      jitter_ms: null
    }
  ],
  ended: { calls: 7, packets_lost: 3, packets_late: 1 },
  ignored: Array.from({ length: 12 }, (_, index) => ({ address: `203.0.113.${index}`, messages: 12 - index }))
}

/** A server with this answer; its address. */
const serving = (listener: RequestListener) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<ReturnType<typeof createServer>>((resume) => {
        const server = createServer(listener)
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.sync(() => server.closeAllConnections()).pipe(Effect.zipRight(Effect.sync(() => server.close())))
    ),
    // It listens on TCP.
    (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  )

const answering = (code: number, body: unknown) =>
  serving((request, response) => {
    response.writeHead(request.url === "/telephony/sip/status" ? code : 500)
    response.end(typeof body === "string" ? body : JSON.stringify(body))
  })

const printed = (url: string, json = false) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const defaults = yield* Effect.console
    yield* Effect.withConsole(status({ url: Option.some(url), json }), {
      ...defaults,
      log: (...parts: ReadonlyArray<unknown>) => Effect.sync(() => void lines.push(parts.join(" ")))
    })
    return lines.join("\n")
  }).pipe(Effect.withConfigProvider(ConfigProvider.fromMap(new Map())))

it.scopedLive("svc sip status shows registrations, calls, packet loss and ignored sources in 80 columns", () =>
  Effect.gen(function* () {
    const text = yield* Effect.flatMap(answering(200, busy), (url) => printed(url))
    expect(Math.max(...text.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(80)
    for (const line of [
      /^SIP on 0\.0\.0\.0:5060 \(udp, tcp\)$/m,
      /^sip:sip\.example\.com:5060 +registered +241 s +–$/m,
      /^sip:other\.example\.com +failed +20 s +403 Forbidden$/m,
      /^outbound +\+31…678 +\+49…321 +answered +62:05 +PCMA +12345 +123 +12\.3 ms$/m,
      /^inbound +– +…01 +ringing +0:03 +– +– +– +–$/m,
      /^Since the start 7 answered calls have ended: 3 packets lost, 1 late\.$/m,
      /^ {2}203\.0\.113\.0 {2}12 messages$/m,
      /^ {2}and 2 more$/m
    ]) {
      expect(text).toMatch(line)
    }
    const json = yield* Effect.flatMap(answering(200, busy), (url) => printed(url, true))
    expect(JSON.parse(json)).toEqual(busy)
  })
)

it.scopedLive("svc sip status of a server without trunk and calls says so", () =>
  Effect.gen(function* () {
    expect(yield* Effect.flatMap(answering(200, idle), (url) => printed(url))).toBe(
      [
        "SIP on 0.0.0.0:5060 (udp, tcp)",
        "No trunk: calls come in, and none can be placed (SVC_SIP_TRUNK_URI).",
        "No call in progress.",
        "Since the start 0 answered calls have ended: 0 packets lost, 0 late."
      ].join("\n\n")
    )
  })
)

it.scopedLive("svc sip status without a server or its plugin says what to do", () =>
  Effect.gen(function* () {
    const message = (url: string) => Effect.map(Effect.flip(printed(url)), String)
    expect(yield* message("http://127.0.0.1:1")).toContain("no server answers at http://127.0.0.1:1: start one")
    expect(yield* Effect.flatMap(answering(404, "{}"), message)).toContain("add @svc/plugin-sip to SVC_PLUGINS")
    for (const body of ["<html>", { version: 2 }, { ...idle, calls: {} }]) {
      expect(yield* Effect.flatMap(answering(200, body), message)).toContain("as no Svc server of this version does")
    }
    const broken = yield* serving((_, response) => response.destroy())
    expect(yield* message(broken)).toContain("no server answers")
    for (const url of ["ftp://127.0.0.1", "127.0.0.1:8787", "http://"]) {
      expect(yield* message(url)).toContain("--url or SVC_URL must be an http URL")
    }
  })
)
