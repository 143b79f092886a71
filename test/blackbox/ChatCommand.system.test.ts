import { expect, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { at, textAt } from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as SvcProcess from "../src/blackbox/SvcProcess.ts"

const script = {
  rules: [
    { user: "gold", say: "Let me look.", tool: "lookup", arguments: { what: "gold" } },
    { tool_result: "lookup", say: "It is {{result.price}}." }
  ],
  otherwise: "You said {{user}}."
}

layer(BlackBox.layer, { timeout: "120 seconds", excludeTestServices: true })("svc chat in a pipe", (it) => {
  it.scoped("talks to an agent by name, shows tools in one line, and ends the session at the end of the input", () =>
    Effect.gen(function* () {
      const { api, keys, url } = yield* BlackBox
      const line = yield* Line.open({ api, url }, ({ event }) => {
        if (event === "call.started") {
          return Line.configuration(script, { end_session_message: "So long.", tools: [{ name: "lookup" }] })
        }
        return { json: event === "tool.call" ? { result: { price: 42 } } : {} }
      })
      const name = `Text ${line.agentId}`
      yield* api.request("PATCH", `/v1/agents/${line.agentId}`, { json: { name } })
      const env = { SVC_KEY: Redacted.value(keys.project), SVC_URL: url }
      const said = yield* SvcProcess.run(
        ["chat", name.toLowerCase(), "--from", Line.caller],
        env,
        "Hi\nWhat is gold?\n#1"
      )
      expect([said.code, said.errors]).toEqual([0, ""])
      expect(
        said.output
          .trimEnd()
          .replace(/\d+ ms/, "n ms")
          .split("\n")
      ).toEqual([
        "agent: Hello.",
        "caller: Hi",
        "agent: You said Hi.",
        "caller: What is gold?",
        "agent: Let me look.",
        'tool lookup({"what":"gold"}) -> ok n ms',
        "agent: It is 42.",
        "caller: 1",
        "agent: So long."
      ])
      const started = yield* line.customer.until("call.started")
      expect(started.body["from"]).toBe(Line.caller)
      const id = textAt(started.body, "call_id")
      expect(at((yield* api.get(`/v1/test-sessions/${id}`)).body, "test_session.status")).toBe("ended")
    })
  )

  it.scoped("prints documents with --json, and is ended by SIGINT", () =>
    Effect.gen(function* () {
      const { api, keys, url } = yield* BlackBox
      const line = yield* Line.open({ api, url }, ({ event }) =>
        // No answer to the tool: the turn goes on until the signal.
        event === "tool.call"
          ? undefined
          : event === "call.started"
            ? Line.configuration(script, { tools: [{ name: "lookup", timeout_seconds: 100 }] })
            : { json: {} }
      )
      const env = { SVC_KEY: Redacted.value(keys.project) }
      const chat = yield* SvcProcess.start(["chat", line.agentId, "--json", "--url", url], env, { input: "gold\n" })
      yield* line.customer.until("tool.call")
      yield* chat.signal("SIGINT")
      yield* chat.exit()
      const [first, ...others] = chat
        .output()
        .trim()
        .split("\n")
        .map((text): unknown => JSON.parse(text))
      expect(at(first, "test_session.messages.0.content")).toBe("Hello.")
      expect(at(others.at(-1), "test_session.status")).toBe("ended")
      const { body } = yield* api.get(`/v1/test-sessions/${textAt(first, "test_session.id")}`)
      expect(at(body, "test_session.status")).toBe("ended")
    })
  )

  it.scoped("says in one line what is wrong and what to do", () =>
    Effect.gen(function* () {
      const { api, keys, url } = yield* BlackBox
      const line = yield* Line.open({ api, url }, () => ({ json: { first_message: "Hi" } }))
      const env = { SVC_KEY: Redacted.value(keys.project), SVC_URL: url }
      const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>, SvcProcess.Environment]> = [
        ["no key is given: set SVC_KEY", ["x"], { SVC_URL: url }],
        ["API key is invalid (INVALID_API_KEY): give a project key", ["x"], { ...env, SVC_KEY: "svc_live_wrong" }],
        ["name the project with --project", ["x"], { ...env, SVC_KEY: Redacted.value(keys.org) }],
        ["no server answers at http://127.0.0.1:9: start one", ["x", "--url", "http://127.0.0.1:9"], env],
        ["must be an http or https URL, not ftp://x", ["x", "--url", "ftp://x"], env],
        ["no agent Nobody in this project: there are ", ["Nobody"], env],
        [
          "has no system_prompt (there is first_message) (TEST_SESSION_FAILED). The agent's server is http://",
          [line.agentId],
          env
        ]
      ]
      const outcomes = yield* Effect.forEach(cases, ([, args, variables]) =>
        SvcProcess.run(["chat", ...args], variables, "Hi\n")
      )
      for (const [index, { code, errors, output }] of outcomes.entries()) {
        expect([code, output]).toEqual([1, errors])
        expect(errors.trim().split("\n")).toEqual([expect.stringContaining(cases[index]?.[0] ?? "")])
        expect(errors).toMatch(/^svc: /)
      }
    })
  )
})
