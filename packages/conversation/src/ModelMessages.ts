import { jsonText, keepCanonicalJson } from "@svc/api/CanonicalJson"
import type { ModelMessage, ModelTool } from "@svc/providers/LanguageModel"
import type { CallConfig } from "./answers/CallConfig.ts"
import { platformToolsOf } from "./answers/PlatformTools.ts"
import type { AgentEntry, CallerEntry, Entry, ToolUse } from "./Entries.ts"
import { playedText, wholeText } from "./machines/Speech.ts"
import { type Passage, referenceMessage, searchKnowledge, searchKnowledgeTool } from "./Passages.ts"
import { perObject } from "./PerObject.ts"
import { sameWords } from "./phrases/Words.ts"
import type { Conversation } from "./State.ts"

/** Characters of the newest tool results that the model gets, so that a long call does not send ever more. */
const maxResults = 256 * 1024

/** What the model gets in place of an older result. */
const droppedResult = "This result is too old and is not shown any more."

/** What the model is told beside the history. */
export interface Situation {
  /** The caller has been silent for so long, and the model is asked to go on. */
  readonly silent_seconds?: number
}

const situationMessage = ({ silent_seconds }: Situation): ReadonlyArray<ModelMessage> =>
  silent_seconds === undefined
    ? []
    : [
        {
          role: "system",
          content: `The caller has said nothing for ${silent_seconds} seconds. Go on with the conversation in one short sentence.`
        }
      ]

/**
 * The messages for the language model. Speech that the caller interrupted, or that text-to-speech did not give, is included
 * only as far as it was played, and tool results only up to {@link maxResults}, the newest first; the newest always. Passages of knowledge bases come
 * before the caller's last words. Old turns may have left it; see History. The system prompt is never changed: providers cache
 * by its bytes.
 *
 * What does not change from request to request is the same object each time, with its canonical JSON: only new messages are
 * serialized and counted.
 */
export const history = (state: Conversation, situation: Situation = {}): ReadonlyArray<ModelMessage> => {
  const last = state.entries.findLast(({ kind }) => kind === "caller")
  const entries = state.entries.slice(state.history.from)
  const found = (entry: CallerEntry) => (entry === last ? reference(state, entry) : [])
  return [prompt(state), ...summary(state), ...ofEntries(entries, found), ...situationMessage(situation)]
}

/** A message of later requests too. Frozen: a plugin that changed it would change those. */
const lasting = (message: ModelMessage): ModelMessage => keepCanonicalJson(Object.freeze(message))

const noPrompt = lasting({ role: "system", content: "" })
const promptOf = perObject(({ system_prompt }: CallConfig) => lasting({ role: "system", content: system_prompt }))
const prompt = ({ config }: Conversation): ModelMessage => (config === null ? noPrompt : promptOf(config))

/** What stands for the turns that left the history. */
const summary = ({ history: { summary: text } }: Conversation): ReadonlyArray<ModelMessage> =>
  text === null ? [] : [{ role: "system", content: `Summary of the earlier part of the call: ${text}` }]

/** The messages of these entries. `before`: those that come before the words of the caller. */
export const ofEntries = (
  entries: ReadonlyArray<Entry>,
  before: (entry: CallerEntry) => ReadonlyArray<ModelMessage> = () => []
): ReadonlyArray<ModelMessage> => {
  let characters = 0
  const resultOf = (tool: ToolUse): ModelMessage => {
    if (characters >= maxResults) return droppedResultOf(tool)
    const shown = shownResultOf(tool)
    const isNewest = characters === 0
    characters += shown.content.length
    return isNewest || characters <= maxResults ? shown : droppedResultOf(tool)
  }
  // The newest results are shown, so from the end.
  const backwards: Array<ModelMessage> = []
  for (let index = entries.length - 1; index >= 0; index--) {
    const entry = entries[index]
    if (entry?.kind === "caller") backwards.push(caller(entry), ...before(entry).toReversed())
    else if (entry?.hidden_from_model === false) {
      for (const tool of entry.tools.toReversed()) backwards.push(resultOf(tool))
      const message = entry.closed ? finished(entry) : spokenSoFar(entry)
      if (message !== null) backwards.push(message)
    }
  }
  return backwards.reverse()
}

const caller = perObject(({ content }: CallerEntry) => lasting({ role: "user", content }))

/** The passages that were found for these words of the caller. */
const reference = ({ knowledge }: Conversation, { content }: CallerEntry): ReadonlyArray<ModelMessage> => {
  const { found } = knowledge
  return found === null || !sameWords(found.query, content) || found.passages.length === 0
    ? []
    : [referenceOf(found.passages)]
}

const referenceOf = perObject((passages: ReadonlyArray<Passage>) => lasting(referenceMessage(passages)))

/** What the agent said and which tools it called; null: nothing. */
const spokenSoFar = (entry: AgentEntry): ModelMessage | null => {
  // Of speech that was cut or could not be spoken, what the caller heard.
  const isCut = entry.interrupted || entry.utterances.some(({ state }) => state === "cut")
  const content = isCut ? playedText(entry) : wholeText(entry)
  if (entry.tools.length === 0) return content === "" ? null : { role: "assistant", content }
  const calls = entry.tools.map(({ id, name, arguments: args }) => Object.freeze({ id, name, arguments: args }))
  return { role: "assistant", content, tool_calls: Object.freeze(calls) }
}

/** The same of an entry that is closed: it changes only when a tool answers, and then it is another object. */
const finished = perObject((entry: AgentEntry) => {
  const message = spokenSoFar(entry)
  return message === null ? null : lasting(message)
})

const resultMessage = ({ id, name }: ToolUse, content: string): ModelMessage =>
  lasting({ role: "tool", tool_call_id: id, name, content })

const shownResultOf = perObject((tool: ToolUse) =>
  resultMessage(tool, typeof tool.result === "string" ? tool.result : jsonText(tool.result))
)
const droppedResultOf = perObject((tool: ToolUse) => resultMessage(tool, droppedResult))

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

/** The tools of a configuration, by whether it is still unknown who answered, and whether the agent has knowledge bases. */
const toolsOf = perObject((config: CallConfig) => {
  const labels = Object.keys(config.transfer_destinations ?? {})
  const own = config.tools.map(({ name, description, parameters, usage_instructions }) => ({
    name,
    description: usage_instructions === undefined ? description : `${description}\n\n${usage_instructions}`,
    parameters
  }))
  const transfer = labels.length === 0 ? [] : [transferCall(labels)]
  const ofPlatform = platformToolsOf(config)
  // Unless the call has a custom tool of that name.
  const search = config.tools.some(({ name }) => name === searchKnowledge) ? [] : [searchKnowledgeTool]
  const sets = new Map<string, ReadonlyArray<ModelTool>>()
  return (isAnswererUnknown: boolean, searches: boolean): ReadonlyArray<ModelTool> => {
    const key = `${isAnswererUnknown} ${searches}`
    const known = sets.get(key)
    if (known !== undefined) return known
    const voicemail = isAnswererUnknown ? [voicemailReached] : []
    const all = [...own, ...transfer, ...voicemail, ...ofPlatform, ...(searches ? search : [])]
    const set = Object.freeze(all.map((tool) => Object.freeze(tool)))
    sets.set(key, set)
    return set
  }
})

/** The tools that the model may call: the same array as long as they do not change. */
export const tools = ({ config, knowledge, voicemail }: Conversation): ReadonlyArray<ModelTool> =>
  config === null ? [] : toolsOf(config)(voicemail === "unknown", knowledge.available)

/** The instruction for the extraction. */
const extractionTask =
  "The phone call is over. Draw from it the values that the schema asks for, as one JSON object, and say nothing else. " +
  "Use null for what was not said; guess nothing."

/** The most characters of the transcript that data is extracted from: its newest turns. */
const maxExtracted = 200_000

/** The messages for the extraction: the transcript, after the call's own prompt as context. They end with the user. */
export const extraction = (state: Conversation): ReadonlyArray<ModelMessage> => {
  const { history, transcript } = state
  const characters = Math.min(maxExtracted, 3 * smallestContext(state))
  let left = characters
  const from = transcript.findLastIndex(({ content }) => {
    left -= content.length
    return left < 0
  })
  const turns = transcript.slice(from + 1).map(({ content, role }): ModelMessage => ({ role, content }))
  return [
    prompt(state),
    ...(from >= 0 && history.summary !== null ? summary(state) : []),
    ...turns,
    { role: "user", content: extractionTask }
  ]
}

/** Half the context of the smallest model, as any may be asked. */
const smallestContext = ({ facts }: Conversation): number =>
  Math.min(...(facts.context_tokens ?? []).flatMap((tokens) => (tokens === null ? [] : [tokens / 2])))
