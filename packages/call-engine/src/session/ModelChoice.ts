import type { ModelRequest as AskedRequest } from "@svc/conversation/Command"
import type { LanguageModel, ModelMessage, ModelRequest } from "@svc/providers/LanguageModel"
import type { Context } from "effect"

export type Model = Context.Tag.Service<LanguageModel>

type Choice = Pick<AskedRequest, "model" | "provider">

/**
 * The provider of a request: the first that offers the named model, else the preferred one; fallbacks (`provider` from
 * 1) are the others in order.
 */
export const chooseModel = (models: ReadonlyArray<Model>, { model, provider = 0 }: Choice): Model | undefined => {
  const first = models.find((one) => model !== undefined && one.models.includes(model)) ?? models[0]
  const others = models.filter((one) => one !== first)
  return [first, ...others][Math.min(provider, models.length - 1)]
}

/** The name for the request, where the provider offers it: a fallback uses its own preferred model. */
export const named = ({ models }: Model, { model }: Pick<Choice, "model">): { readonly model?: string } =>
  model !== undefined && models.includes(model) ? { model } : {}

/** Before an agent that speaks first, for models whose conversations begin with the user. */
const beginning: ModelMessage = { role: "user", content: "(The caller is on the line.)" }

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
 * what the system says after the prompt is part of the user's next words. The prompt stays as it is.
 */
export const alternating = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<ModelMessage> => {
  const [prompt, ...rest] = messages
  if (prompt === undefined) return messages
  const out: Array<ModelMessage> = []
  for (const message of rest) {
    const one: ModelMessage = message.role === "system" ? { role: "user", content: message.content } : message
    if (out.length === 0 && one.role === "assistant") out.push(beginning)
    const both = merged(out.at(-1), one)
    if (both === undefined) out.push(one)
    else out[out.length - 1] = both
  }
  return [prompt, ...out]
}

/** The request as this model takes it. */
export const requestFor = (model: Model, request: ModelRequest): ModelRequest =>
  model.alternatingRoles === true ? { ...request, messages: alternating(request.messages) } : request
