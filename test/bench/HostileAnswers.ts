import { fields, filled, KB, list, MB } from "./HostileValues.ts"

/** Answers of a hostile tenant's server, each at or above its limit. See docs/decisions/0021-limits-before-work.md. */

/** What the agent's server answers; the request that counts is the one of the last field that is there. */
export interface HostileAnswer {
  readonly what: string
  readonly started: string
  /** The answer to tool.call, for which the caller asks. */
  readonly tool?: string
  /** The answer to transcript.updated. */
  readonly transcript?: string
}

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

const tool37 = (index: number) => ({
  name: `tool_${index}`,
  description: "Looks up",
  parameters: { type: "object", properties: fields(33, 8, "string") }
})

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
  { what: "a prompt of 127 KB", started: answer({ system_prompt_append: "x".repeat(126 * KB) }) },
  { what: "127 KB of escapes in a prompt", started: answer({ system_prompt_append: "\n".repeat(63 * KB) }) },
  { what: "9,900 numbers in metadata", started: answer({ metadata: { rows: list(9900, () => 123456789) } }) },
  { what: "4,900 objects in metadata", started: answer({ metadata: { rows: list(4900, () => ({})) } }) },
  {
    what: "100 levels in metadata",
    started: `{"system_prompt":"x","metadata":${'{"a":'.repeat(97)}0${"}".repeat(97)}}`
  },
  { what: "4,900 unknown fields", started: answer(fields(4900, 18)) },
  { what: "4,900 languages", started: answer({ languages: list(4900, () => "en-US") }) },
  { what: "4,900 dtmf_actions", started: answer({ dtmf_actions: fields(4900, 8, "x") }) },
  { what: "4,900 fields to extract", started: answer({ extraction_schema: fields(2400, 8, { type: "string" }) }) },
  { what: "128 tools with 4,800 parameters", started: answer({ tools: list(128, tool37) }) },
  {
    what: "a menu with a prompt of 127 KB",
    started: JSON.stringify({ pre_gather: { prompt: "Word, ".repeat(21_000) } })
  },
  { what: "127 KB of text that is not JSON", started: "x".repeat(127 * KB) }
]

const tools: ReadonlyArray<HostileAnswer> = [
  { what: "256 KB of text", tool: JSON.stringify({ result: "é\n".repeat(60 * KB) }) },
  { what: "256 KB with 5,000 fields", tool: JSON.stringify({ result: fields(4990, 45) }) },
  { what: "4,900 objects", tool: JSON.stringify({ result: { rows: list(3300, (i) => ({ a: i })) } }) },
  { what: "128 K levels", tool: `{"result":${"[".repeat(120 * KB)}${"]".repeat(120 * KB)}}` },
  { what: "9,900 numbers", tool: JSON.stringify({ result: list(9900, () => 1234567890123456) }) },
  { what: "1 MB", tool: JSON.stringify({ result: "x".repeat(MB) }) }
].map((one) => ({ ...one, started: answer({}) }))

/** Arguments that the model makes, of which there are as many as its prompt has place for. */
const modelArguments: ReadonlyArray<HostileAnswer> = [
  { what: "120 KB of text", value: { text: "é\n".repeat(12 * KB) } },
  { what: "4,800 fields", value: fields(4800, 16) }
].map(({ value, what }) => ({ what, started: answer({ system_prompt: asks(value) }), tool: '{"result":true}' }))

const transcripts: ReadonlyArray<HostileAnswer> = [
  { what: "127 KB", transcript: JSON.stringify(fields(4900, 18)) },
  { what: "1 MB", transcript: "x".repeat(MB) }
].map((one) => ({ ...one, started: answer({}) }))

export const answers: ReadonlyArray<HostileAnswer> = [
  ...started.map((one) => ({ ...one, what: `call.started: ${one.what}` })),
  ...tools.map((one) => ({ ...one, what: `tool.call: ${one.what}` })),
  ...transcripts.map((one) => ({ ...one, what: `transcript.updated: ${one.what}` })),
  ...modelArguments.map((one) => ({ ...one, what: `arguments of a tool: ${one.what}` }))
]
