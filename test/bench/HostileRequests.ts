import { webhookEvents } from "@svc/api/events/WebhookEvents"
import { fields, filled, KB, list, MB, number } from "./HostileValues.ts"

/** Requests of a hostile tenant, each at or above its limit. See docs/decisions/0021-limits-before-work.md. */

/** A request to the API. */
export interface HostileRequest {
  readonly what: string
  readonly method: "GET" | "POST" | "DELETE"
  readonly path: string
  readonly body?: string
  /** Of the answer that the input must get: the bench stops at another one. */
  readonly status: number
  /** Sent to the workspace API, with an idempotency key. */
  readonly isWorkspace?: boolean
}

const agents = { method: "POST", path: "/v1/agents", status: 400 } as const
const agent = { name: "x", server_url: "https://example.com" }

/** 1000 characters that may be read in many ways. */
const answer = (text: string) => text.repeat(1000).slice(0, 1000)
const matches: ReadonlyArray<HostileRequest> = [
  { what: "spelled letters", expected: answer("b as in bravo "), actual: answer("b us in brivo ") },
  { what: "a spelling alphabet", expected: answer("bravo alfa berta "), actual: answer("berta alfa bravo ") },
  {
    what: "spelled letters and words",
    expected: answer("b as in bravo "),
    actual: list(200, (i) => `w${i}`).join(" ")
  },
  { what: "number words of many languages", expected: answer("to en sei fire "), actual: answer("twenty drie once ") },
  { what: "dates", expected: answer("3/5/2024 "), actual: answer("the third of may 2024 ") },
  { what: "one word", expected: answer("abcdefghi"), actual: answer("ihgfedcba") },
  { what: "combining marks", expected: answer("e\u0301"), actual: answer("\u00e9 ") }
].map(({ what, ...body }) => ({
  what: `match: ${what}`,
  method: "POST",
  path: "/v1/verify/match",
  status: 200,
  body: JSON.stringify(body)
}))

/** A base has at most 500,000 characters or 1,000 pairs, and 2,000 passages. */
const bases: ReadonlyArray<HostileRequest> = [
  { what: "500,000 characters in words", source_type: "text", content: list(70_000, (i) => `w${i}`).join(" ") },
  { what: "500,000 characters without a break", source_type: "text", content: "é".repeat(500_000) },
  { what: "500,000 line ends", source_type: "text", content: "\nx".repeat(250_000) },
  {
    what: "1,000 pairs",
    source_type: "qa",
    entries: list(1000, (i) => ({ question: `q${i}`.repeat(40), answer: `a${i} `.repeat(100) }))
  }
].map(({ what, ...body }) => ({
  what: `knowledge base: ${what}`,
  method: "POST",
  path: "/v1/knowledge-bases",
  status: 201,
  body: JSON.stringify({ name: "x", ...body })
}))

const user = { role: "user", content: "Hello" }
const completions: ReadonlyArray<HostileRequest> = [
  { what: "2,400 messages", messages: list(2400, () => user) },
  { what: "a text of 1 MB", messages: [{ role: "user", content: "é ".repeat(340 * KB) }] },
  { what: "streamed, a text of 1 MB", stream: true, messages: [{ role: "user", content: "é ".repeat(340 * KB) }] },
  {
    what: "2,400 parts of text",
    messages: [{ role: "user", content: list(2400, () => ({ type: "text", text: "x" })) }]
  },
  {
    what: "128 tools with 3,840 parameters",
    messages: [user],
    tools: list(128, (i) => ({
      type: "function",
      function: { name: `tool_${i}`, parameters: { type: "object", properties: fields(30, 200, {}) } }
    }))
  },
  {
    what: "600 tool calls",
    messages: [
      user,
      {
        role: "assistant",
        tool_calls: list(600, (i) => ({ id: `c${i}`, type: "function", function: { name: "x", arguments: '{"a":1}' } }))
      },
      ...list(600, (i) => ({ role: "tool", tool_call_id: `c${i}`, content: "x".repeat(500) }))
    ]
  },
  {
    what: "arguments of 4,900 fields",
    messages: [
      user,
      {
        role: "assistant",
        tool_calls: [
          { id: "c", type: "function", function: { name: "x", arguments: JSON.stringify(fields(4900, 100)) } }
        ]
      },
      { role: "tool", tool_call_id: "c", content: "x" }
    ]
  },
  {
    what: "many arguments of 9,000 numbers",
    messages: [
      user,
      {
        role: "assistant",
        tool_calls: list(50, (i) => ({
          id: `c${i}`,
          type: "function",
          function: { name: "x", arguments: `{"a":[${filled("0,", 18_000)}]}` }
        }))
      },
      ...list(50, (i) => ({ role: "tool", tool_call_id: `c${i}`, content: "x" }))
    ]
  },
  {
    what: "a schema of 4,800 fields",
    messages: [user],
    response_format: { type: "json_schema", json_schema: { name: "x", schema: fields(4800, 150) } }
  }
].map(({ what, ...body }) => ({
  what: `chat: ${what}`,
  method: "POST",
  path: "/v1/chat/completions",
  status: 200,
  body: JSON.stringify({ model: "svc-ki-1.0", ...body })
}))

export const requests: ReadonlyArray<HostileRequest> = [
  { what: "body: 1 MB of brackets", ...agents, body: "[".repeat(MB - 1) },
  { what: "body: 1 MB of nested objects", ...agents, body: filled('{"a":', MB - 1) },
  { what: "body: 500,000 numbers", ...agents, body: `[${filled("0,", MB - 2)}]` },
  { what: "body: 350,000 empty arrays", ...agents, body: `[${filled("[],", MB - 2)}]` },
  { what: "body: 5,000 unknown fields", ...agents, body: JSON.stringify(fields(5000, 180)) },
  { what: "body: 4,900 empty objects", ...agents, body: JSON.stringify({ name: list(4900, () => ({})) }) },
  { what: "body: 1 MB of text", ...agents, body: JSON.stringify({ name: "é".repeat(MB / 2 - 16) }) },
  { what: "body: 1 MB of escapes", ...agents, body: JSON.stringify({ name: "\n".repeat(MB / 2 - 16) }) },
  {
    what: "body: 9,900 invalid webhook_events",
    ...agents,
    body: JSON.stringify({ ...agent, webhook_events: list(9900, String) })
  },
  {
    what: "body: 190 invalid webhook_events",
    ...agents,
    body: JSON.stringify({ ...agent, webhook_events: list(190, String) })
  },
  {
    what: "body: 200 knowledge bases",
    ...agents,
    body: JSON.stringify({ ...agent, knowledge_base_ids: list(200, (i) => `kb_${i}`) })
  },
  {
    what: "body: metadata with 4,990 keys",
    method: "POST",
    path: "/v1/calls",
    status: 400,
    body: JSON.stringify({ agent_id: "agent_x", to_number: "+15550100177", metadata: fields(4990, 8) })
  },
  {
    what: "body: webhook with 9,900 events",
    method: "POST",
    path: "/v1/webhooks",
    status: 400,
    body: JSON.stringify({ url: "http://127.0.0.1:9/x", events: list(9900, () => "knowledge_base.refreshed") })
  },
  {
    what: "body: webhook with 100 events",
    method: "POST",
    path: "/v1/webhooks",
    status: 201,
    body: JSON.stringify({ url: "http://127.0.0.1:9/x", events: list(100, () => "knowledge_base.refreshed") })
  },
  {
    what: "body: webhook with 4,900 filters",
    method: "POST",
    path: "/v1/webhooks",
    status: 400,
    body: JSON.stringify({ url: "https://example.com", events: ["*"], filters: fields(4900, 8, "no") })
  },
  {
    what: "body with an idempotency key: 5,000 fields",
    method: "POST",
    path: "/api/workspace/v1/bookings/customers",
    isWorkspace: true,
    status: 201,
    body: JSON.stringify({ name: "x", email: "x@example.com", ...fields(4900, 100) })
  },
  {
    what: "body: text message of 1 MB",
    method: "POST",
    path: "/v1/sms/send",
    status: 400,
    body: JSON.stringify({ from_number: number, to: "+15550100177", message: "x".repeat(MB - 100) })
  },
  {
    what: "body: text message of 160 characters",
    method: "POST",
    path: "/v1/sms/send",
    status: 200,
    body: JSON.stringify({ from_number: number, to: "+15550100177", message: "x".repeat(160) })
  },
  { what: "query: one parameter 4,000 times", method: "GET", path: `/v1/calls?${filled("a&", 8_000)}`, status: 200 },
  { what: "query: 1,600 parameters", method: "GET", path: `/v1/calls?${list(1600, String).join("&")}`, status: 200 },
  { what: "query: a cursor of 8 KB", method: "GET", path: `/v1/calls?after=${"9".repeat(8_000)}`, status: 400 },
  { what: "query: 1,100 cursors", method: "GET", path: `/v1/calls?${filled("after=&", 8_000)}`, status: 400 },
  { what: "query: a name of 8 KB", method: "GET", path: `/v1/agents?name=${"%25".repeat(2_600)}`, status: 200 },
  { what: "document: OpenAPI", method: "GET", path: "/openapi.json", status: 200 },
  { what: "document: OpenAPI of the workspace", method: "GET", path: "/openapi.workspace.json", status: 200 },
  { what: "document: reference page", method: "GET", path: "/docs", status: 200 },
  ...matches,
  ...bases,
  ...completions
]

/**
 * A webhook that names every event, and each more than once. The events go to `url`. A tenant may have as many as it
 * likes.
 */
export const manyEventsWebhook = (url: string): HostileRequest => ({
  what: "webhook",
  method: "POST",
  path: "/v1/webhooks",
  status: 201,
  body: JSON.stringify({ url, events: list(100, (index) => webhookEvents[index % webhookEvents.length]) })
})

/** An event for all webhooks of the tenant. */
export const eventForWebhooks: HostileRequest = {
  what: "event",
  method: "POST",
  path: "/v1/sms/send",
  status: 200,
  body: JSON.stringify({ from_number: number, to: "+15550100177", message: "x" })
}

export const newSession = (agent_id: string): HostileRequest => ({
  what: "test session",
  method: "POST",
  path: "/v1/test-sessions",
  status: 201,
  body: JSON.stringify({ agent_id, metadata: fields(1500, 30) })
})

/** Messages to a test session. */
export const messages: ReadonlyArray<{ readonly what: string; readonly content: string }> = [
  { what: "4,000 characters", content: "word, ".repeat(666) },
  { what: "a tool with a result of 5,000 fields", content: "look up it" }
]
