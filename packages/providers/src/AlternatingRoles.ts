import type { ModelMessage } from "./LanguageModel.ts"

/** Before an assistant that speaks first, for models whose conversations begin with the user. */
const beginning: ModelMessage = { role: "user", content: "(The conversation begins.)" }

const joined = (one: string, other: string): string => [one, other].filter((text) => text !== "").join("\n")

/** Two messages as one; undefined: they stay two. */
const merged = (one: ModelMessage | undefined, other: ModelMessage): ModelMessage | undefined => {
  if (one?.role === "user" && other.role === "user")
    return { role: "user", content: joined(one.content, other.content) }
  if (one?.role === "assistant" && other.role === "assistant" && one.tool_calls === undefined)
    return { ...other, content: joined(one.content, other.content) }
  return undefined
}

/**
 * Messages in which user and assistant alternate, beginning with the user: neighbours of one role become one message, and
 * what the system says after the first message is part of the user's next words. A prompt, which is a first message of the
 * system, stays as it is. For models whose server refuses others; the engine does it where `alternatingRoles` is true.
 */
export const alternating = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<ModelMessage> => {
  const prompt = messages.slice(0, messages[0]?.role === "system" ? 1 : 0)
  const out: Array<ModelMessage> = []
  for (const message of messages.slice(prompt.length)) {
    const one: ModelMessage = message.role === "system" ? { role: "user", content: message.content } : message
    if (out.length === 0 && one.role === "assistant") out.push(beginning)
    const both = merged(out.at(-1), one)
    if (both === undefined) out.push(one)
    else out[out.length - 1] = both
  }
  return [...prompt, ...out]
}
