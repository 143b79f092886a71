import type { ServerResponse } from "node:http"
import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { AgentsRepo } from "@svc/agents/AgentsRepo"
import { Accounts } from "@svc/auth/Accounts"
import * as AgentServerDouble from "@svc/call-engine/testing/AgentServerDouble"
import { fastClock } from "@svc/call-engine/testing/FastClock"
import { TestDatabase } from "@svc/database/TestDatabase"
import { BigDecimal, ConfigProvider, Effect, Either, Layer, Option, Redacted } from "effect"
import { agentCheck, type CheckOptions } from "../../src/commands/agent-check/AgentCheck.ts"
import { CommandServices } from "../../src/commands/CommandServices.ts"
import { Reported } from "../../src/StartFailure.ts"

const Services = AgentsRepo.layer.pipe(Layer.provideMerge(CommandServices))

const secret = "0123456789abcdef"

const standard: CheckOptions = {
  agent: "",
  secret: Option.none(),
  from: "+15550100200",
  to: Option.none(),
  digits: "1",
  tool: Option.none(),
  with: Option.none(),
  allTools: false,
  transcript: false,
  strict: false,
  dev: true,
  json: true
}

/** What the command printed and how it ended. */
const check = (
  options: Partial<CheckOptions>,
  settings: ReadonlyArray<readonly [string, string]> = [["SVC_ALLOW_PRIVATE_URLS", "true"]]
) =>
  Effect.gen(function* () {
    const out: Array<string> = []
    const err: Array<string> = []
    const defaults = yield* Effect.console
    const ended = yield* Effect.either(
      Effect.withConsole(agentCheck({ ...standard, ...options }), {
        ...defaults,
        log: (...parts: ReadonlyArray<unknown>) => Effect.sync(() => void out.push(parts.join(" "))),
        error: (...parts: ReadonlyArray<unknown>) => Effect.sync(() => void err.push(parts.join(" ")))
      })
    )
    const code = Either.isRight(ended) ? 0 : ended.left instanceof Reported ? ended.left.exitCode : String(ended.left)
    return { code, out: out.join("\n"), err: err.join("\n") }
  }).pipe(Effect.withConfigProvider(ConfigProvider.fromMap(new Map(settings))))

/** The document of `--json`. */
const checked = (...given: Parameters<typeof check>) =>
  Effect.map(check(...given), ({ code, out }) => ({ code, ...JSON.parse(out) }))

const configuration = {
  system_prompt: "You answer the phone.",
  first_message: "Hello",
  tools: [
    {
      name: "find",
      parameters: {
        type: "object",
        properties: { day: { type: "string" }, room: { type: "integer" } },
        required: ["day"]
      }
    },
    { name: "order", gather: { prompt: "Type the number", max_digits: 4 }, timeout_seconds: 1 }
  ],
  transfer_destinations: { desk: "+15550100199" }
}

/** Refuses what a server must refuse, and answers the rest by `answer`. */
const careful =
  (answer: (request: AgentServerDouble.Received) => AgentServerDouble.Answer) =>
  (request: AgentServerDouble.Received): AgentServerDouble.Answer => {
    const { headers, raw } = request
    const seconds = String(headers["x-svc-timestamp"])
    const signed = headers["x-svc-signature-v1"] === AgentServerDouble.signV1(secret, seconds, raw)
    const old = Number(headers["x-svc-timestamp"]) < performance.timeOrigin / 1000 - 300
    if (!signed || old) return { write: (res) => void res.writeHead(401).end("{}") }
    return answer(request)
  }

const good = careful(({ body, event }) => ({
  json: event === "call.started" ? configuration : event === "tool.call" ? { result: body["arguments"] } : {}
}))

const started = (json: unknown) => careful(() => ({ json }))

const sent = (status: number, type: string, body: string) => (): AgentServerDouble.Answer => ({
  write: (res: ServerResponse) => void res.writeHead(status, { "content-type": type, location: "/there" }).end(body)
})

/** A database with a project, agents that are made in it, and the number of rows of everything that a call writes. */
const stored = Effect.gen(function* () {
  const url = yield* TestDatabase.freshUrl
  const settings = [
    ["SVC_DATABASE_URL", Redacted.value(url)],
    ["SVC_ALLOW_PRIVATE_URLS", "true"]
  ] as const
  const inDatabase = <A, E>(effect: Effect.Effect<A, E, Layer.Layer.Success<typeof Services>>) =>
    effect.pipe(Effect.provide(Services), Effect.withConfigProvider(ConfigProvider.fromMap(new Map(settings))))
  const agent = (server_url: string) =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const sql = yield* SqlClient.SqlClient
      const org = yield* accounts.createOrganization({
        name: "Acme",
        tier: "growth",
        balance_eur: BigDecimal.fromBigInt(0n)
      })
      const project = yield* accounts.createProject(org.id, { name: "Default", description: null })
      const made = yield* Effect.flatMap(AgentsRepo, (repo) =>
        repo.insert({
          org_id: org.id,
          project_id: project.id,
          name: "Reception",
          language: "en-US",
          voice: "Sarah",
          max_duration: 1800,
          recording: false,
          end_call_enabled: true,
          server_url,
          server_secret: secret,
          has_webhook: false,
          has_knowledge_bases: false
        })
      )
      const number = {
        org_id: org.id,
        project_id: project.id,
        number: "+15550100100",
        country: "US",
        type: "local",
        telephony: "simulated",
        monthly_cost_eur: 0,
        agent_id: made.id,
        agent_public_id: made.public_id
      }
      yield* sql`insert into phone_numbers ${sql.insert(number)}`
      return made
    }).pipe(inDatabase)
  const counts = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const tables = [
      "calls",
      "call_journal",
      "callback_exchanges",
      "call_holds",
      "ledger_entries",
      "events",
      "webhook_deliveries"
    ]
    return yield* Effect.forEach(
      tables,
      (table) => sql<{ n: number }>`select ${table} as table, count(*)::int as n from ${sql(table)}`
    )
  }).pipe(inDatabase)
  return { agent, counts, settings }
})

const withSecret = { secret: Option.some(Redacted.make(secret)) }

describe("svc agent check", () => {
  it.scopedLive("of a good server finds no fault, and shows what it offers", () =>
    Effect.gen(function* () {
      const server = yield* AgentServerDouble.start(good)
      const { code, out } = yield* check({
        agent: server.url,
        ...withSecret,
        json: false,
        allTools: true,
        transcript: true
      })
      expect(code).toBe(0)
      const lines = out.replace(/\d+ ms/g, "0 ms").split("\n")
      expect(lines).toEqual([
        `Sample call to ${server.url}`,
        "",
        "ok    call.started       answered 200 in 0 ms (limit 5 s): first_message; tools find, order; transfers to desk",
        expect.stringMatching(/^warn {2}call\.started {7}voices are not checked: .*no text-to-speech plugin/),
        "ok    signature          a request with a wrong signature is refused (401)",
        "ok    timestamp          a request with a timestamp of an hour ago is refused (401)",
        'ok    tool.call          find {"day":"test"}: answered 200 in 0 ms (limit 5 s)',
        'ok    tool.call          order {"gathered_input":"1","gather_status":"valid"}: answered 200 in 0 ms (limit 1 s)',
        "ok    transcript.updated answered 200 in 0 ms (limit 5 s)",
        "",
        "no faults, 1 warning"
      ])
      expect(server.received.map(({ event }) => event)).toEqual([
        "call.started",
        "call.started",
        "call.started",
        "tool.call",
        "tool.call",
        "transcript.updated"
      ])
      // All are of one call, whose id no other has.
      expect(new Set(server.received.map(({ headers }) => headers["x-call-id"])).size).toBe(1)
    })
  )

  const faults: ReadonlyArray<
    readonly [string, (request: AgentServerDouble.Received) => AgentServerDouble.Answer, RegExp, RegExp]
  > = [
    ["a redirect", sent(302, "text/plain", ""), /redirects are not followed \(302\)$/, /final address/],
    ["404", sent(404, "text/plain", "no"), /answered 404 with text\/plain in \d+ ms$/, /with its path/],
    ["405", sent(405, "text/plain", "no"), /answered 405/, /accept POST/],
    ["401", sent(401, "text/plain", "no"), /answered 401/, /verifies the header X-Svc-Signature-V1/],
    ["500", sent(500, "text/plain", "no"), /answered 500/, /log for the error/],
    ["a web page", sent(200, "text/html", "<!doctype html>"), /not JSON; at line 1, column 1/, /a web page/],
    ["bad JSON", sent(200, "application/json", '{"a":}'), /not JSON; at line 1, column 6, near/, /Correct the JSON/],
    ["an empty body", sent(200, "application/json", ""), /not JSON; it is empty$/, /Send a body/],
    ["too much", sent(200, "application/json", `"${"x".repeat(140_000)}"`), /over 128 KB$/, /at most 128 KB/],
    ["no system_prompt", () => ({ json: { prompt: "Hi" } }), /no system_prompt \(there is prompt\)$/, /system_prompt/],
    ["a closed connection", () => ({ write: (res) => void res.socket?.destroy() }), /closed the connection/, /crash/]
  ]
  for (const [name, answer, reason, hint] of faults) {
    it.scopedLive(`names the failure of call.started with ${name}, and what to do`, () =>
      Effect.gen(function* () {
        const { url } = yield* AgentServerDouble.start(answer)
        const report = yield* checked({ agent: url, ...withSecret })
        expect(report).toMatchObject({
          code: 1,
          ok: false,
          checks: [
            {
              check: "call.started",
              ok: false,
              failure: {
                stage: "call.started",
                reason: expect.stringMatching(reason),
                hint: expect.stringMatching(hint)
              }
            },
            { check: "signature", checked: false },
            { check: "timestamp", checked: false }
          ]
        })
      })
    )
  }

  it.scopedLive("names a server that is not there, one that is blocked, and a URL that cannot be one", () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(AgentServerDouble.start(good))
      expect((yield* checked({ agent: url })).checks[0].failure.reason).toMatch(/its server refused the connection$/)
      const blocked = yield* check({ agent: url, json: false, dev: false }, [])
      expect(blocked.out).toMatch(/its address, scheme or port is blocked by SSRF filter/)
      expect(blocked.out).toMatch(/give --dev here too/)
      expect(yield* check({ agent: "http://" })).toMatchObject({ code: 2, err: "svc: http:// is not a URL" })
    })
  )

  it.scopedLive("names every field that is left out and every unknown one by its path", () =>
    Effect.gen(function* () {
      const { url } = yield* AgentServerDouble.start(
        started({
          ...configuration,
          max_duration: "soon",
          firstMessage: "Hello",
          tools: [{ name: "two words" }, { name: "find", timeout: 3 }],
          transfer_destinations: { desk: "0123" }
        })
      )
      const { checks, code } = yield* checked({ agent: url, ...withSecret })
      expect(code).toBe(1)
      expect(checks[0].faults).toEqual([
        { field: "max_duration", reason: 'must be a whole number of seconds (it is the text "soon")' },
        { field: "tools.0", reason: expect.stringMatching(/^name must be 1 to 64 letters/) },
        { field: "transfer_destinations.desk", reason: expect.stringMatching(/^must be a valid E\.164/) }
      ])
      expect(checks[0].warnings.slice(0, 2)).toEqual([
        { field: "tools.1.timeout", reason: expect.stringMatching(/known are name, /) },
        { field: "firstMessage", reason: expect.stringMatching(/did you mean first_message\?$/) }
      ])
    })
  )

  it.scopedLive("with --strict counts warnings as faults", () =>
    Effect.gen(function* () {
      const { url } = yield* AgentServerDouble.start(started({ ...configuration, colour: "red" }))
      expect((yield* checked({ agent: url, ...withSecret })).code).toBe(0)
      expect((yield* checked({ agent: url, ...withSecret, strict: true })).code).toBe(1)
    })
  )

  it.scopedLive("warns of a server that accepts a wrong signature or an old timestamp", () =>
    Effect.gen(function* () {
      const trusting = yield* AgentServerDouble.start(() => ({ json: configuration }))
      const legacy = yield* AgentServerDouble.start(({ headers, raw }) =>
        headers["x-svc-signature"] === AgentServerDouble.sign(secret, raw)
          ? { json: configuration }
          : { write: (res) => void res.writeHead(403).end() }
      )
      const broken = yield* AgentServerDouble.start(({ headers, raw }) =>
        headers["x-svc-signature"] === AgentServerDouble.sign(secret, raw)
          ? { json: configuration }
          : { write: (res) => void res.writeHead(500).end() }
      )
      const warningsOf = (url: string) =>
        Effect.map(checked({ agent: url, ...withSecret }), ({ checks, code }) => {
          expect(code).toBe(0)
          return checks.slice(1).map((one: { warnings: ReadonlyArray<{ reason: string }> }) => one.warnings[0]?.reason)
        })
      const replay = expect.stringMatching(/timestamp of an hour ago is accepted \(200\): .*300 seconds/)
      expect(yield* warningsOf(trusting.url)).toEqual([
        expect.stringMatching(/wrong signature is accepted \(200\): verify X-Svc-Signature-V1/),
        replay
      ])
      expect(yield* warningsOf(legacy.url)).toEqual([undefined, replay])
      expect(yield* warningsOf(broken.url)).toEqual([
        expect.stringMatching(/wrong signature must be refused with status 401: POST .* answered 500/),
        replay
      ])
    })
  )

  it.scopedLive("calls a tool with given arguments, and names an answer without a result and a missing tool", () =>
    Effect.gen(function* () {
      const { received, url } = yield* AgentServerDouble.start(
        careful(({ event }) => ({ json: event === "call.started" ? configuration : { answer: 1 } }))
      )
      const options = { agent: url, ...withSecret }
      const found = yield* checked({ ...options, tool: Option.some("find"), with: Option.some('{"day":"Friday"}') })
      expect(found.code).toBe(1)
      expect(found.checks.at(-1)).toMatchObject({
        check: "tool.call",
        tool: "find",
        limit_ms: 5000,
        failure: { stage: "tool.call", reason: expect.stringMatching(/has no result; there is answer$/) }
      })
      expect(received.at(-1)?.body).toMatchObject({ event: "tool.call", name: "find", arguments: { day: "Friday" } })
      const missing = yield* checked({ ...options, tool: Option.some("cancel") })
      expect(missing.code).toBe(1)
      expect(missing.checks.at(-1).faults[0].reason).toMatch(/no valid tool cancel .*it has find, order$/)
    })
  )

  it.scopedLive("gives up after the limits of call.started and of a tool", () =>
    Effect.gen(function* () {
      const mute = yield* AgentServerDouble.start(() => undefined)
      const slow = yield* AgentServerDouble.start(
        careful(({ event }) => (event === "call.started" ? { json: configuration } : undefined))
      )
      const never = yield* checked({ agent: mute.url }).pipe(Effect.withClock(fastClock(20)))
      expect(never.checks[0].failure).toMatchObject({
        reason: expect.stringMatching(/no answer within 5 seconds$/),
        hint: expect.stringMatching(/^Answer call\.started within 5 seconds/)
      })
      const late = yield* checked({ agent: slow.url, ...withSecret, tool: Option.some("order") }).pipe(
        Effect.withClock(fastClock(5))
      )
      expect(late.checks.at(-1).failure).toMatchObject({ reason: "no answer to tool.call within 1 s" })
    })
  )

  it.scopedLive("presses --digits in a menu, and checks the answer after it", () =>
    Effect.gen(function* () {
      const { received, url } = yield* AgentServerDouble.start(
        careful(({ body }) => ({
          json:
            body["gather_status"] === null ? { pre_gather: { prompt: "Press 1", digits: 2 } } : { first_message: "x" }
        }))
      )
      const { checks, code } = yield* checked({ agent: url, ...withSecret, digits: "42" })
      expect(code).toBe(1)
      expect(checks.slice(0, 2)).toMatchObject([
        { check: "call.started", ok: true, detail: expect.stringContaining("a menu (pre_gather)") },
        { check: "menu", ok: false, failure: { reason: expect.stringContaining("no system_prompt") } }
      ])
      expect(received[1]?.body).toMatchObject({ gathered_digit: "4", gathered_input: "42", gather_status: "valid" })
    })
  )

  it.scopedLive("of an agent signs with its secret, dials its number, checks its voice, and writes nothing", () =>
    Effect.gen(function* () {
      const { agent, counts, settings } = yield* stored
      const { received, url } = yield* AgentServerDouble.start(started({ ...configuration, voice: "Nobody" }))
      const id = yield* agent(url)
      const before = yield* counts
      const plugins = ["SVC_PLUGINS", "@svc/plugin-simulated"] as const
      for (const given of [id.public_id, String(id.id)]) {
        const report = yield* checked({ agent: given }, [...settings, plugins])
        expect(report).toMatchObject({ code: 1, agent_id: id.public_id, server_url: url })
        expect(report.checks[0].faults).toEqual([
          { field: "voice", reason: "voice not available for the selected language" }
        ])
        expect(report.checks[0].warnings).toEqual([])
      }
      expect(received[0]?.body).toMatchObject({ agent_id: id.public_id, to: "+15550100100", from: "+15550100200" })
      expect(yield* counts).toEqual(before)
      const unknown = yield* check({ agent: "agent_000000000000000000000000" }, settings)
      expect(unknown).toMatchObject({
        code: 2,
        out: "",
        err: expect.stringMatching(/^svc: there is no agent agent_0+/)
      })
    })
  )

  it.effect("refuses arguments that do not fit together with exit code 2", () =>
    Effect.gen(function* () {
      const given: ReadonlyArray<readonly [Partial<CheckOptions>, RegExp]> = [
        [{ with: Option.some("{}") }, /give --tool too/],
        [{ tool: Option.some("a"), with: Option.some("[1]") }, /--with must be a JSON object/],
        [{ tool: Option.some("a"), with: Option.some("{") }, /--with must be a JSON object/],
        [{ tool: Option.some("a"), allTools: true }, /not both/]
      ]
      for (const [options, message] of given) {
        const { code, err, out } = yield* check({ agent: "http://127.0.0.1:1/", ...options })
        expect({ code, out }).toEqual({ code: 2, out: "" })
        expect(err).toMatch(message)
      }
    })
  )
})
