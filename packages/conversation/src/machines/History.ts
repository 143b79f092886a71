import type { ModelMessage, ModelTool } from "@svc/providers/LanguageModel"
import { command, type Draft, patch, providerField } from "../Draft.ts"
import type { InputOf } from "../Input.ts"
import * as Messages from "../ModelMessages.ts"
import { perObject } from "../PerObject.ts"
import type { Conversation } from "../State.ts"
import * as Problems from "./Problems.ts"

/**
 * How much of the conversation the model gets. The history has a budget of tokens. When it exceeds that, whole turns leave it, the
 * oldest first, until it has {@link keptShare} of the budget, so that the beginning of the requests, by which providers
 * cache, changes rarely. The prompt and the last {@link keptTurns} turns of the caller stay, whatever their size. A turn
 * leaves with all its tool calls and their results.
 *
 * | summary | on | then |
 * |---|---|---|
 * | – | turns leave | Summarize: the model is asked in the background to sum them up, with the summary so far |
 * | asked | Summarized | the summary stands in the history; turns that left meanwhile are summed up next |
 * | asked | SummaryFailed | the former summary stays; the turns are summed up with the next that leave |
 */

/** The budget where neither the model nor a setting gives one, in tokens. */
export const defaultTokens = 100_000
const keptShare = 0.75
/** Turns of the caller, with what followed, that never leave. */
export const keptTurns = 2
/** The share of the model's context that is used: the estimate of tokens may be too low. */
const usableShare = 0.8
/** The room for an answer where the call does not limit it. */
const answerTokens = 1024
/** The longest text that is summed up, and the longest summary, in characters. */
const maxSummarized = 60_000
export const maxSummary = 4000
/** The longest result of a tool in the text that is summed up, in characters. */
const maxResult = 500

/** An estimate: a token of most models has 3 to 4 letters, and fewer of letters that need more bytes. */
const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4)

const tokensOfMessage = perObject((message: ModelMessage) => {
  const calls = message.role === "assistant" && message.tool_calls !== undefined ? message.tool_calls : []
  return 4 + tokensOf(message.content) + (calls.length === 0 ? 0 : tokensOf(JSON.stringify(calls)))
})

const messageTokens = (messages: ReadonlyArray<ModelMessage>): number =>
  messages.reduce((sum, message) => sum + tokensOfMessage(message), 0)

const toolTokens = perObject((tools: ReadonlyArray<ModelTool>) => tokensOf(JSON.stringify(tools)))

/** How many tokens a request may have beside the answer and the tools. */
const budgetOf = (state: Conversation): number => {
  const { config, facts, provider_index } = state
  const known = (facts.context_tokens ?? []).flatMap((tokens) => (tokens === null ? [] : [tokens]))
  const context =
    provider_index.model > 0
      ? // A fallback, which may be any of the others.
        known.length === 0
        ? undefined
        : Math.min(...known)
      : (config?.model?.context_tokens ?? (config?.model?.name == null ? facts.context_tokens?.[0] : null) ?? undefined)
  const setting = facts.history_tokens ?? defaultTokens
  if (context === undefined) return setting
  const reserved = (config?.model?.max_tokens ?? answerTokens) + toolTokens(Messages.tools(state))
  return Math.min(setting, Math.floor(context * usableShare) - reserved)
}

/**
 * The messages for the model, which is asked now. Old turns leave the history first if it has become too large; `hasLeft`:
 * whether any did.
 */
export const fitted = (
  d: Draft,
  situation: Messages.Situation
): { readonly messages: ReadonlyArray<ModelMessage>; readonly hasLeft: boolean } => {
  const { entries, history } = d.state
  const messages = Messages.history(d.state, situation)
  const budget = budgetOf(d.state)
  const total = messageTokens(messages)
  if (total <= budget) return { messages, hasLeft: false }
  const turns = entries.flatMap((entry, index) => (entry.kind === "caller" && index > history.from ? [index] : []))
  const lastAllowed = turns.at(-keptTurns)
  if (lastAllowed === undefined) return { messages, hasLeft: false }
  let from = history.from
  let left = total
  for (const next of turns) {
    if (left <= budget * keptShare || next > lastAllowed) break
    left -= messageTokens(Messages.ofEntries(entries.slice(from, next)))
    from = next
  }
  patch(d, { history: { ...history, from } })
  return { messages: Messages.history(d.state, situation), hasLeft: from > history.from }
}

const lineOf = (message: ModelMessage): ReadonlyArray<string> => {
  switch (message.role) {
    case "user":
      return [`Caller: ${message.content}`]
    case "assistant":
      return message.content === "" ? [] : [`Agent: ${message.content}`]
    case "tool":
      return [`Result of ${message.name}: ${message.content.slice(0, maxResult)}`]
    case "system":
      return []
  }
}

const task =
  "You are given the earlier part of a phone call. Sum it up for the agent who goes on with the call, in at most 200 words and " +
  "in the language of the call. Keep names, numbers, dates, what was found out and agreed, and what is still open. Write " +
  "nothing else."

/** Asks for a summary of what has left, unless one is asked for already. Called after the model was asked: that is first. */
export const summarize = (d: Draft): void => {
  const { config, entries, history, provider_index } = d.state
  if (history.pending !== null || history.from <= history.summarized) return
  const lines = Messages.ofEntries(entries.slice(history.summarized, history.from)).flatMap(lineOf)
  const before = history.summary === null ? "" : `Summary of what was before: ${history.summary}\n\n`
  const text = lines.join("\n").slice(-maxSummarized)
  const id = `s${history.next}`
  patch(d, { history: { ...history, pending: { id, to: history.from }, next: history.next + 1 } })
  command(d, {
    _tag: "Summarize",
    id,
    messages: [
      { role: "system", content: task },
      { role: "user", content: before + text }
    ],
    ...(config?.model?.name == null ? {} : { model: config.model.name }),
    ...providerField(provider_index.model)
  })
}

export const onSummarized = (d: Draft, { id, text }: InputOf<"Summarized">): void => {
  const { history } = d.state
  if (history.pending?.id !== id) return
  const summary = text.trim().slice(0, maxSummary)
  if (summary === "") {
    onSummaryFailed(d, { id, reason: "the model returned nothing" })
    return
  }
  patch(d, { history: { ...history, summary, summarized: history.pending.to, pending: null } })
  summarize(d)
}

export const onSummaryFailed = (d: Draft, { id, reason }: Pick<InputOf<"SummaryFailed">, "id" | "reason">): void => {
  const { history } = d.state
  if (history.pending?.id !== id) return
  patch(d, { history: { ...history, pending: null } })
  Problems.warn(d, "language-model", `earlier turns of the call were not summed up: ${reason}`)
}
