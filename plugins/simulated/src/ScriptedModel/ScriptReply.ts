import type { ModelMessage, ModelRequest } from "@svc/providers/LanguageModel"
import { matchPattern } from "./Pattern.ts"
import type { ResultRule, Script, ScriptCall, UserRule } from "./Script.ts"
import { type Facts, substitute, substituteDeep } from "./Substitution.ts"

/** What the model says and does in one turn. The text comes before the calls. */
export interface ScriptReply {
  readonly text: string
  readonly calls: ReadonlyArray<{
    readonly name: string
    readonly arguments: { readonly [name: string]: unknown }
  }>
}

/** Of very long words of a caller, only so much is looked at: characters of one turn, and of a whole call. */
const longestTurn = 1000
const longestCall = 20_000

const isUserRule = (rule: UserRule | ResultRule): rule is UserRule => "user" in rule

const isUser = (message: ModelMessage | undefined): boolean => message?.role === "user"

const act = (rule: Omit<UserRule, "user"> | Omit<ResultRule, "tool_result">, facts: Facts): ScriptReply => {
  const first: ReadonlyArray<ScriptCall> =
    rule.tool === undefined ? [] : [{ tool: rule.tool, arguments: rule.arguments }]
  return {
    text: rule.say === undefined ? "" : substitute(rule.say, facts),
    calls: [...first, ...(rule.tools ?? [])].map((call) => ({
      name: call.tool,
      arguments: Object.fromEntries(
        Object.entries(call.arguments ?? {}).map(([name, value]) => [name, substituteDeep(value, facts)])
      )
    }))
  }
}

interface Match {
  readonly rule: UserRule
  readonly groups: ReadonlyArray<string | undefined>
}

/** The first rule that matches these words, but for those that have had their one time. */
const findRule = (script: Script, words: string, spent: ReadonlySet<UserRule>): Match | undefined => {
  for (const rule of script.rules) {
    if (!isUserRule(rule) || spent.has(rule)) continue
    const groups = matchPattern(rule.user, "i", words.slice(0, longestTurn))
    if (groups !== null) return { rule, groups }
  }
  return undefined
}

/**
 * The rules with `once` that have acted already. Read off the conversation, so a restart or a repeated question changes nothing:
 * a rule has acted when it matched earlier words of the caller that were answered in some way.
 */
const spentRules = (script: Script, messages: ReadonlyArray<ModelMessage>): ReadonlySet<UserRule> => {
  const spent = new Set<UserRule>()
  if (!script.rules.some((rule) => isUserRule(rule) && rule.once === true)) return spent
  const last = messages.findLastIndex(isUser)
  for (const [index, message] of messages.slice(0, Math.max(0, last)).entries()) {
    if (message.role !== "user" || isUser(messages[index + 1])) continue
    const rule = findRule(script, message.content, spent)?.rule
    if (rule?.once === true) spent.add(rule)
  }
  return spent
}

const parsed = (content: string): unknown => {
  try {
    return JSON.parse(content)
  } catch {
    return content
  }
}

/** Answers the results of tools: the rule of the last one, else of the one before it, and so on. */
const replyToResults = (script: Script, request: ModelRequest, user: string): ScriptReply => {
  const facts = (content: string): Facts => ({
    user,
    groups: [],
    variables: request.variables,
    result: parsed(content)
  })
  const last = request.messages.at(-1)
  for (const message of request.messages.toReversed()) {
    if (message.role !== "tool") break
    for (const rule of script.rules) {
      if (!isUserRule(rule) && rule.tool_result === message.name) return act(rule, facts(message.content))
    }
  }
  return act({ say: script.otherwise ?? "{{result}}" }, facts(last?.role === "tool" ? last.content : ""))
}

/** What the script does about the conversation as it stands. Throws `SlowPattern`. */
export const replyTo = (script: Script, request: ModelRequest): ScriptReply => {
  const { messages, variables } = request
  const last = messages.findLast(isUser)
  const user = last?.content ?? ""
  if (messages.at(-1)?.role === "tool") return replyToResults(script, request, user)
  const match = findRule(script, user, spentRules(script, messages))
  const facts: Facts = { user, groups: match?.groups ?? [], variables, result: undefined }
  return act(match?.rule ?? { say: script.otherwise ?? "You said: {{user}}" }, facts)
}

const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null

/** The type that a JSON Schema gives to one of its properties. */
const typeOf = (schema: ModelRequest["responseSchema"], field: string): unknown => {
  const properties = schema?.properties
  const property = isRecord(properties) ? properties[field] : undefined
  return isRecord(property) ? property.type : undefined
}

const fieldValue = (text: string, type: unknown): unknown => {
  const types: ReadonlyArray<unknown> = Array.isArray(type) ? type : [type]
  if (types.includes("number") || types.includes("integer")) {
    const value = Number(text.replace(",", "."))
    return Number.isFinite(value) ? value : null
  }
  if (types.includes("boolean")) return !/^\s*(?:false|no|not|0|)\s*$/i.test(text)
  return text
}

/**
 * The fields of `extract` as one JSON object: the first group (or the whole match) of each pattern over all that the caller said,
 * a turn a line. A field that was not said is left out. Throws `SlowPattern`.
 */
export const extractFrom = (script: Script, request: ModelRequest): string => {
  const words = request.messages
    .flatMap((message) => (message.role === "user" ? [message.content] : []))
    .join("\n")
    .slice(0, longestCall)
  const fields = Object.entries(script.extract ?? {}).flatMap(([field, pattern]) => {
    const match = matchPattern(pattern, "im", words)
    return match === null
      ? []
      : [[field, fieldValue(match[1] ?? match[0], typeOf(request.responseSchema, field))] as const]
  })
  return JSON.stringify(Object.fromEntries(fields))
}
