import type * as http from "node:http"
import * as https from "node:https"
import type { AddressInfo } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import type { UntimedInput } from "@svc/conversation/Input"
import { facts } from "@svc/conversation/testing/Script"
import { freePort } from "@svc/providers/testing/FreePorts"
import { certificate } from "@svc/providers/testing/LocalCertificate"
import { Effect } from "effect"
import * as AgentServer from "../../src/agent-server/AgentServer.ts"
import { AgentServerClient, callStartedMs } from "../../src/agent-server/AgentServerClient.ts"
import * as AgentServerDouble from "../../src/testing/AgentServerDouble.ts"
import { fastClock } from "../../src/testing/FastClock.ts"
import { agentAt, agentServerClient } from "../doubles/AgentServerRequests.ts"

/** What the conversation is told, for people, about a customer's server that answers badly or not at all. */

/** The inputs that the requests of a call to this address feed. */
const fed = (url: string, kind: "call.started" | "tool.call" | "transcript.updated") =>
  Effect.gen(function* () {
    const inputs: Array<UntimedInput> = []
    const sent: Array<Effect.Effect<void>> = []
    const server = AgentServer.make({
      callId: 1,
      agent: agentAt(url),
      facts,
      services: {
        agentServer: yield* AgentServerClient,
        background: (effect) => void sent.push(effect),
        serverRequests: { add: () => {} },
        abilities: { speaks: () => true, voiceFor: (voice: string) => voice, models: "any" }
      },
      feed: (input) => void inputs.push(input)
    })
    if (kind === "call.started") yield* server.fetchConfig({ _tag: "FetchConfig" })
    else if (kind === "tool.call")
      yield* server.invokeTool({ _tag: "InvokeTool", id: "t", name: "lookup", arguments: {} })
    else {
      server.sendTranscript({ _tag: "TellTranscript", role: "user", content: "Hi", timestamp: 1 })
      yield* Effect.all(sent)
    }
    const [input] = inputs
    const { cause, what = "" } = (input !== undefined && "fault" in input ? input.fault : undefined) ?? {}
    return { tag: input?._tag, cause, what }
  })

const answered = (write: (res: http.ServerResponse) => void, kind: "call.started" | "tool.call" = "call.started") =>
  Effect.flatMap(
    AgentServerDouble.start(({ event }) => (event === kind ? { write } : { json: {} })),
    ({ url }) => fed(`${url}?key=s3cret`, kind)
  )

const send = (status: number, type: string, body: string) => (res: http.ServerResponse) =>
  void res.writeHead(status, { "content-type": type }).end(body)

const json = "application/json"
const page = "<!doctype html><html><body>Welcome</body></html>"

/** A name, what the server does, and the expected cause and words. */
const answers: ReadonlyArray<readonly [string, (res: http.ServerResponse) => void, string, RegExp]> = [
  ["404", send(404, "text/html; charset=utf-8", page), "not-found", /answered 404 with text\/html in \d+ ms$/],
  ["405", send(405, "text/plain", "POST?"), "method", /answered 405 with text\/plain in \d+ ms$/],
  ["401", send(401, json, "{}"), "unauthorized", /answered 401 /],
  ["422", send(422, json, "{}"), "client-error", /answered 422 /],
  ["500", send(500, "text/plain", "Error: at line 5"), "server-error", /answered 500 with text\/plain in \d+ ms$/],
  ["a redirect", send(302, "text/html", ""), "redirect", /answered 302 .*redirects are not followed/],
  ["a web page", send(200, "text/html", page), "html", /answered 200 with text\/html in \d+ ms: .*not JSON/],
  ["an empty body", send(200, json, ""), "empty", /not JSON; it is empty$/],
  [
    "bad JSON",
    send(200, json, '{\n  "system_prompt": "Hi",\n  "voice": Sarah\n}'),
    "json",
    /not JSON; at line 3, column 12, near ".*Sarah.*"$/
  ],
  ["wrong fields", send(200, json, '{"prompt":"Hi"}'), "fields", /has no system_prompt \(there is prompt\)$/],
  [
    "a wrong type",
    send(200, json, '{"system_prompt":5}'),
    "fields",
    /system_prompt .* must be a string \(it is the number 5\)$/
  ],
  ["a list", send(200, json, "[]"), "fields", /must be a JSON object \(it is a list of 0 entries\)$/],
  ["too much", send(200, json, `"${"x".repeat(200_000)}"`), "too-large", /the answer is over 128 KB$/],
  ["too many values", send(200, json, `[${"0,".repeat(20_000)}0]`), "limits", /more than 10000 values$/],
  [
    "a closed connection",
    (res) => void res.socket?.destroy(),
    "closed",
    /server_url could not be reached: its server closed the connection/
  ],
  [
    "something else than HTTP",
    (res) => void res.socket?.end("SSH-2.0-OpenSSH\r\n"),
    "not-http",
    /does not speak HTTP at this port$/
  ]
]

describe("the fault of a request to the agent's server", () => {
  for (const [name, write, cause, what] of answers) {
    it.scopedLive(`names what came: ${name}`, () =>
      Effect.gen(function* () {
        const fault = yield* answered(write)
        expect(fault).toEqual({ tag: "ConfigFailed", cause, what: expect.stringMatching(what) })
        expect(fault.what).toMatch(/^POST http:\/\/127\.0\.0\.1:\d+\/agent /)
        expect(fault.what).not.toContain("s3cret")
      }).pipe(Effect.provide(agentServerClient()))
    )
  }

  it.scopedLive("names what an answer to tool.call has in place of result", () =>
    Effect.gen(function* () {
      expect(yield* answered(send(200, json, '{"output":1,"ok":true}'), "tool.call")).toEqual({
        tag: "ToolFailed",
        cause: "fields",
        what: expect.stringMatching(/the answer to tool\.call has no result; there is output, ok$/)
      })
      expect(yield* answered(send(500, json, "{}"), "tool.call")).toMatchObject({ cause: "server-error" })
    }).pipe(Effect.provide(agentServerClient()))
  )

  it.scopedLive("is the same for transcript.updated", () =>
    Effect.gen(function* () {
      const { url } = yield* AgentServerDouble.start(() => ({ write: send(404, "text/plain", "") }))
      expect(yield* fed(url, "transcript.updated")).toEqual({
        tag: "TranscriptFailed",
        cause: "not-found",
        what: expect.stringMatching(/answered 404 with text\/plain/)
      })
    }).pipe(Effect.provide(agentServerClient()))
  )

  it.scopedLive("tells a refused connection, an unknown name and a wrong URL apart", () =>
    Effect.gen(function* () {
      const free = yield* freePort
      for (const kind of ["call.started", "tool.call", "transcript.updated"] as const) {
        expect(yield* fed(`http://user:pw@127.0.0.1:${free}/agent?x=1`, kind)).toMatchObject({
          cause: "refused",
          what: expect.stringMatching(
            /^POST http:\/\/127\.0\.0\.1:\d+\/agent failed after \d+ ms: server_url could not be reached: its server refused the connection$/
          )
        })
      }
      expect(yield* fed("http://nobody.invalid/agent", "call.started")).toMatchObject({
        cause: "dns",
        what: expect.stringMatching(/its host name was not found$/)
      })
      expect(yield* fed("nonsense", "call.started")).toMatchObject({ cause: "url" })
    }).pipe(Effect.provide(agentServerClient()))
  )

  it.scopedLive("names a certificate that is not trusted, and a port without TLS", () =>
    Effect.gen(function* () {
      const port = yield* tlsServer
      const { url } = yield* AgentServerDouble.start(() => ({ json: {} }))
      expect(yield* fed(`https://127.0.0.1:${port}/agent`, "call.started")).toMatchObject({
        cause: "tls",
        what: expect.stringMatching(/its TLS certificate is self-signed/)
      })
      expect(yield* fed(url.replace("http:", "https:"), "call.started")).toMatchObject({
        cause: "tls",
        what: expect.stringMatching(/does not speak TLS/)
      })
    }).pipe(Effect.provide(agentServerClient()))
  )

  it.scopedLive("names an address that is not allowed", () =>
    Effect.map(fed("http://127.0.0.1:8080/agent", "call.started"), (fault) =>
      expect(fault).toMatchObject({
        cause: "blocked",
        what: expect.stringMatching(/its address, scheme or port is blocked by SSRF filter$/)
      })
    ).pipe(Effect.provide(agentServerClient(false)))
  )

  it.scopedLive("names the time limit of call.started and transcript.updated", () =>
    Effect.gen(function* () {
      const { url } = yield* AgentServerDouble.start(() => undefined)
      for (const kind of ["call.started", "transcript.updated"] as const) {
        expect(yield* fed(url, kind).pipe(Effect.withClock(fastClock(callStartedMs)))).toMatchObject({
          cause: "timeout",
          what: expect.stringMatching(/no answer within 5 seconds$/)
        })
      }
    }).pipe(Effect.provide(agentServerClient()))
  )
})

const tlsServer = Effect.map(
  Effect.acquireRelease(
    Effect.async<https.Server>((resume) => {
      const server = https.createServer(certificate, (_, res) => void res.end("{}"))
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
  ),
  (server) => (server.address() as AddressInfo).port
)
