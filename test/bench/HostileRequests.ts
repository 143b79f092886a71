/** Inputs of a hostile tenant, each at or above its limit. See docs/decisions/0021-limits-before-work.md. */

/** The number of the hostile agent. */
export const number = "+15550100166"

/** A request to the API. */
export interface HostileRequest {
  readonly what: string
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body?: string
  /** Of the answer that the input must get: the bench stops at another one. */
  readonly status: number
  /** Sent to the workspace API, with an idempotency key. */
  readonly isWorkspace?: boolean
}

/** An answer of the agent's server; that to tool.call comes after the caller has asked for the tool. */
export interface HostileAnswer {
  readonly what: string
  readonly started: string
  readonly tool?: string
}

const KB = 1024
const MB = 1024 * KB

const filled = (one: string, bytes: number): string => one.repeat(Math.floor(bytes / one.length)).replace(/,$/, "")
const list = <A>(length: number, of: (index: number) => A): ReadonlyArray<A> =>
  Array.from({ length }, (_, index) => of(index))
const fields = (length: number, size: number, value: unknown = 0) =>
  Object.fromEntries(list(length, (index) => [`k${index}`.padEnd(size, "y"), value]))

const agents = { method: "POST", path: "/v1/agents", status: 400 } as const
const agent = { name: "x", server_url: "https://example.com" }

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
  { what: "OpenAPI document", method: "GET", path: "/openapi.json", status: 200 }
]

const script = {
  first_token_ms: 0,
  rules: [
    { user: "look up (\\w+)", tool: "lookup", arguments: { what: "$1" } },
    { tool_result: "lookup", say: "There it is" }
  ],
  otherwise: "I have heard you"
}
const system_prompt = `You answer the phone.\n\`\`\`script\n${JSON.stringify(script)}\n\`\`\``
const lookup = { name: "lookup", description: "Looks up" }
/** A model that asks for its tool with large arguments. */
const asks = (value: object) =>
  `You answer.\n\`\`\`script\n${JSON.stringify({
    ...script,
    rules: [
      { user: "look", tool: "lookup", arguments: value },
      { tool_result: "lookup", say: "There it is" }
    ]
  })}\n\`\`\``
const answer = (more: object) => JSON.stringify({ system_prompt, tools: [lookup], ...more })

const started: ReadonlyArray<HostileAnswer> = [
  { what: "1 MB with 300,000 invalid tools", started: `{"system_prompt":"x","tools":[${filled("{},", MB - 40)}]}` },
  { what: "40,000 numbers as tools", started: `{"system_prompt":"x","tools":[${filled("0,", 120 * KB)}]}` },
  { what: "4,900 invalid tools", started: answer({ tools: list(4900, () => ({})) }) },
  { what: "128 invalid tools", started: answer({ tools: list(128, (i) => ({ name: "a b", parameters: i })) }) },
  {
    what: "128 tools in 128 KB",
    started: answer({
      tools: list(128, (i) => ({
        name: `tool_${i}`,
        description: "x".repeat(300),
        parameters: { type: "object", properties: fields(15, 6, {}) },
        gather: { prompt: "Type", max_digits: 4 }
      }))
    })
  },
  { what: "one tool with 4,800 parameters", started: answer({ tools: [{ ...lookup, parameters: fields(4800, 12) }] }) },
  { what: "4,900 destinations", started: answer({ transfer_destinations: fields(4900, 8, "no") }) },
  { what: "100 invalid destinations", started: answer({ transfer_destinations: fields(100, 1000, "no") }) },
  { what: "4,900 keys of metadata", started: answer({ metadata: fields(4900, 12) }) },
  {
    what: "20 patterns of 500 characters",
    started: answer({
      extraction_schema: Object.fromEntries(list(20, (i) => [`f${i}`, { type: "string", pattern: "[a-z]".repeat(99) }]))
    })
  },
  { what: "a greeting of 100 KB", started: answer({ first_message: "Word, ".repeat(17_000) }) },
  { what: "a greeting of 10,000 characters", started: answer({ first_message: "Word, ".repeat(1_600) }) },
  { what: "a prompt of 127 KB", started: answer({ system_prompt_append: "x".repeat(126 * KB) }) }
]

const tools: ReadonlyArray<HostileAnswer> = [
  { what: "256 KB of text", tool: JSON.stringify({ result: "é\n".repeat(60 * KB) }) },
  { what: "256 KB with 5,000 fields", tool: JSON.stringify({ result: fields(4990, 45) }) },
  { what: "4,900 objects", tool: JSON.stringify({ result: { rows: list(3300, (i) => ({ a: i })) } }) },
  { what: "128 K levels", tool: `{"result":${"[".repeat(120 * KB)}${"]".repeat(120 * KB)}}` },
  { what: "1 MB", tool: JSON.stringify({ result: "x".repeat(MB) }) }
].map((one) => ({ ...one, started: answer({}) }))

/** Arguments that the model makes, of which there are as many as its prompt has place for. */
const modelArguments: ReadonlyArray<HostileAnswer> = [
  { what: "120 KB of text", value: { text: "é\n".repeat(30 * KB) } },
  { what: "4,800 fields", value: fields(4800, 16) }
].map(({ value, what }) => ({ what, started: answer({ system_prompt: asks(value) }), tool: '{"result":true}' }))

export const answers: ReadonlyArray<HostileAnswer> = [
  ...started.map((one) => ({ ...one, what: `call.started: ${one.what}` })),
  ...tools.map((one) => ({ ...one, what: `tool.call: ${one.what}` })),
  ...modelArguments.map((one) => ({ ...one, what: `arguments of a tool: ${one.what}` }))
]
