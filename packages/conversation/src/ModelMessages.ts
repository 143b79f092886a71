import type { ModelMessage, ModelTool } from "@svc/providers/LanguageModel"
import { platformToolsOf } from "./answers/PlatformTools.ts"
import { playedText, wholeText } from "./machines/Speech.ts"
import type { AgentEntry, Conversation, ToolUse } from "./State.ts"

/** Characters of the newest tool results that the model gets, so that a long call does not send ever more. */
const maxResults = 256 * 1024

/** What the model gets in place of an older result. */
const droppedResult = "This result is too old and is not shown any more."

/**
 * The messages for the language model. Speech that the caller interrupted is included only as far as it was played, and
 * tool results only up to {@link maxResults}, the newest first; the newest always.
 */
export const history = (state: Conversation): ReadonlyArray<ModelMessage> => {
  let results = 0
  const content = ({ result }: ToolUse): string => {
    if (results >= maxResults) return droppedResult
    const text = typeof result === "string" ? result : JSON.stringify(result ?? null)
    const isNewest = results === 0
    results += text.length
    return isNewest || results <= maxResults ? text : droppedResult
  }
  const backwards = state.entries.toReversed().map((entry): ReadonlyArray<ModelMessage> => {
    if (entry.kind === "caller") return [{ role: "user", content: entry.content }]
    return entry.hidden_from_model ? [] : agent(entry, content)
  })
  return [{ role: "system", content: state.config?.system_prompt ?? "" }, ...backwards.reverse().flat()]
}

const agent = (entry: AgentEntry, resultOf: (tool: ToolUse) => string): ReadonlyArray<ModelMessage> => {
  const content = entry.interrupted ? playedText(entry) : wholeText(entry)
  if (entry.tools.length === 0) return content === "" ? [] : [{ role: "assistant", content }]
  const calls = entry.tools.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }))
  const results = entry.tools
    .toReversed()
    .map((tool): ModelMessage => ({ role: "tool", tool_call_id: tool.id, name: tool.name, content: resultOf(tool) }))
  return [{ role: "assistant", content, tool_calls: calls }, ...results.reverse()]
}

/** The tool by which the model transfers a call, created from `transfer_destinations`. */
const transferCall = (labels: ReadonlyArray<string>): ModelTool => ({
  name: "transfer_call",
  description: "Transfers the phone call to somebody else. Tell the caller first.",
  parameters: {
    type: "object",
    properties: {
      destination: { type: "string", enum: labels, description: "Whom to transfer the caller to" },
      reason: { type: "string", description: "Why, in a few words" }
    },
    required: ["destination"]
  }
})

/** The tool by which the model reports a voicemail, offered until it is decided who took the call. */
const voicemailReached: ModelTool = {
  name: "svc_voicemail_reached",
  description: "Call this, and say nothing, when a voicemail or an answering machine took the call and not a person.",
  parameters: { type: "object", properties: {} }
}

const createdTools = ({ config, voicemail }: Conversation): ReadonlyArray<ModelTool> => {
  const labels = Object.keys(config?.transfer_destinations ?? {})
  return [
    ...(labels.length === 0 ? [] : [transferCall(labels)]),
    ...(voicemail === "unknown" ? [voicemailReached] : [])
  ]
}

/** The tools that the model may call. */
export const tools = (state: Conversation): ReadonlyArray<ModelTool> => [
  ...(state.config?.tools ?? []).map(({ name, description, parameters, usage_instructions }) => ({
    name,
    description: usage_instructions === undefined ? description : `${description}\n\n${usage_instructions}`,
    parameters
  })),
  ...createdTools(state),
  ...(state.config === null ? [] : platformToolsOf(state.config))
]

/** The instruction for the extraction. */
const extractionTask =
  "The phone call is over. Draw from it the values that the schema asks for, as one JSON object, and say nothing else. " +
  "Use null for what was not said; guess nothing."

/** The messages for the extraction: the transcript, after the call's own prompt as context. */
export const extraction = (state: Conversation): ReadonlyArray<ModelMessage> => [
  { role: "system", content: state.config?.system_prompt ?? "" },
  ...state.transcript.map(({ content, role }): ModelMessage => ({ role, content })),
  { role: "system", content: extractionTask }
]
