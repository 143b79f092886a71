/** Inputs of a hostile tenant, each at or above its limit. See docs/decisions/0021-limits-before-work.md. */

/** A request to the API. */
export interface HostileRequest {
  readonly what: string
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body?: string
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

const agents = { method: "POST", path: "/v1/agents" } as const

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
    body: JSON.stringify({ name: "x", server_url: "https://example.com", webhook_events: list(9900, String) })
  },
  {
    what: "body: 900 invalid webhook_events",
    ...agents,
    body: JSON.stringify({ name: "x", server_url: "https://example.com", webhook_events: list(900, String) })
  },
  {
    what: "body: metadata with 5,000 keys",
    method: "POST",
    path: "/v1/calls",
    body: JSON.stringify({ agent_id: "agent_x", to_number: "+15550100177", metadata: fields(4990, 8) })
  },
  {
    what: "body with an idempotency key: 5,000 fields",
    method: "POST",
    path: "/api/workspace/v1/bookings/customers",
    isWorkspace: true,
    body: JSON.stringify({ name: "x", email: "x@example.com", ...fields(4900, 100) })
  },
  {
    what: "body: text message of 1 MB",
    method: "POST",
    path: "/v1/sms",
    body: JSON.stringify({ to: "+15550100177", message: "x".repeat(MB - 100) })
  },
  { what: "query: one parameter 7,000 times", method: "GET", path: `/v1/calls?${filled("a&", 14_000)}` },
  { what: "query: 3,000 parameters", method: "GET", path: `/v1/calls?${list(3000, String).join("&")}` },
  { what: "query: a cursor of 14 KB", method: "GET", path: `/v1/calls?after=${"9".repeat(14_000)}` }
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

export const answers: ReadonlyArray<HostileAnswer> = [
  ...started.map((one) => ({ ...one, what: `call.started: ${one.what}` })),
  ...tools.map((one) => ({ ...one, what: `tool.call: ${one.what}` }))
]
