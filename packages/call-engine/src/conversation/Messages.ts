import type { ModelMessage, ModelTool } from "@svc/providers/LanguageModel"
import { playedText, wholeText } from "./Speech.ts"
import type { AgentEntry, Conversation } from "./State.ts"

/** The conversation as the language model is shown it. What the caller cut off is not part of it. */
export const history = (state: Conversation): ReadonlyArray<ModelMessage> => [
  { role: "system", content: state.config?.system_prompt ?? "" },
  ...state.entries.flatMap((entry): ReadonlyArray<ModelMessage> => {
    if (entry.kind === "caller") return [{ role: "user", content: entry.content }]
    return entry.aside ? [] : agent(entry)
  })
]

const agent = (entry: AgentEntry): ReadonlyArray<ModelMessage> => {
  const content = entry.interrupted ? playedText(entry) : wholeText(entry)
  if (entry.tools.length === 0) return content === "" ? [] : [{ role: "assistant", content }]
  const calls = entry.tools.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }))
  return [
    { role: "assistant", content, tool_calls: calls },
    ...entry.tools.map(
      (tool): ModelMessage => ({
        role: "tool",
        tool_call_id: tool.id,
        name: tool.name,
        content: typeof tool.result === "string" ? tool.result : JSON.stringify(tool.result ?? null)
      })
    )
  ]
}

/** How the model ends a call by itself (spec 2.8). */
const endCall: ModelTool = {
  name: "end_call",
  description: "Ends the phone call. Say goodbye first.",
  parameters: {
    type: "object",
    properties: {
      disposition: {
        type: "string",
        enum: [
          "resolved",
          "customer_satisfied",
          "no_further_questions",
          "customer_requested",
          "wrong_number",
          "spam",
          "abusive"
        ]
      }
    },
    required: ["disposition"]
  }
}

/** How the model transfers a call, created from `transfer_destinations` (spec 6.6, decisions §4.17). */
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

/** How the model tells that it talks to a machine, while that is not known. */
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
  ...(state.config?.end_call === true ? [endCall] : [])
]
