import type { ModelMessage, ModelRequest } from "@svc/providers/LanguageModel"
import { matchPattern } from "./Pattern.ts"
import type { ResultRule, Script, ScriptCall, UserRule } from "./Script.ts"
import { substitute, substituteDeep, type Values } from "./Substitution.ts"

/** The answer of the model in one turn. The text comes before the calls. */
export interface ScriptReply {
  readonly text: string
  readonly calls: ReadonlyArray<{
    readonly name: string
    readonly arguments: { readonly [name: string]: unknown }
  }>
}

/** The number of characters that patterns see: of one turn, and of all turns of a call. */
const maxTurnLength = 1000
const maxCallLength = 20_000

const isUserRule = (rule: UserRule | ResultRule): rule is UserRule => "user" in rule

const isUser = (message: ModelMessage | undefined): boolean => message?.role === "user"

const act = (rule: Omit<UserRule, "user"> | Omit<ResultRule, "tool_result">, values: Values): ScriptReply => {
  const first: ReadonlyArray<ScriptCall> =
    rule.tool === undefined ? [] : [{ tool: rule.tool, arguments: rule.arguments }]
  return {
    text: rule.say === undefined ? "" : substitute(rule.say, values),
    calls: [...first, ...(rule.tools ?? [])].map((call) => ({
      name: call.tool,
      arguments: Object.fromEntries(
        Object.entries(call.arguments ?? {}).map(([name, value]) => [name, substituteDeep(value, values)])
      )
    }))
  }
}

interface Match {
  readonly rule: UserRule
  readonly groups: ReadonlyArray<string | undefined>
}

/** The first rule that matches these words and is not spent. */
const findRule = (script: Script, words: string, spent: ReadonlySet<UserRule>): Match | undefined => {
  for (const rule of script.rules) {
    if (!isUserRule(rule) || spent.has(rule)) continue
    const groups = matchPattern(rule.user, "i", words.slice(0, maxTurnLength))
    if (groups !== null) return { rule, groups }
  }
  return undefined
}

/**
 * The rules with `once` that were already applied. Derived from the conversation, so that a restart or a repeated
 * request changes nothing: a rule was applied when it matched earlier words of the caller that were answered.
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

/** What the model says when a tool has failed and its script has no words for that: nobody wants to hear JSON. */
const failedTool = "I'm sorry, that did not work."

const isFailed = (result: unknown): boolean => isRecord(result) && typeof result.error === "string"

/** Whether a text speaks of the result, but not of its error. */
const needsResult = (text: string): boolean => /\{\{\s*result\b/.test(text) && !/\{\{\s*result\.error\b/.test(text)

/** Answers the results of tools with the rule of the last result that has one. */
const replyToResults = (script: Script, request: ModelRequest, user: string): ScriptReply => {
  const values = (content: string): Values => ({
    user,
    groups: [],
    variables: request.variables,
    result: parsed(content)
  })
  const last = request.messages.at(-1)
  const reply = (rule: Parameters<typeof act>[0], content: string): ScriptReply => {
    const given = values(content)
    return isFailed(given.result) && needsResult(rule.say ?? "") ? { text: failedTool, calls: [] } : act(rule, given)
  }
  for (const message of request.messages.toReversed()) {
    if (message.role !== "tool") break
    for (const rule of script.rules) {
      if (!isUserRule(rule) && rule.tool_result === message.name) return reply(rule, message.content)
    }
  }
  return reply({ say: script.otherwise ?? "{{result}}" }, last?.role === "tool" ? last.content : "")
}

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * The answer to `use <tool> with <json>`, the words with which a person tries a tool before there is a model: a call of
 * that tool, or what is wrong with the words. Undefined for other words.
 */
const replyToCommand = (words: string, { tools }: ModelRequest): ScriptReply | undefined => {
  const [, name = "", text = ""] = /^\s*use\s+(\S+)\s+with\s+(\S[\s\S]*)$/i.exec(words) ?? []
  if (name === "") return undefined
  const say = (answer: string): ScriptReply => ({ text: answer, calls: [] })
  const tool = tools.find((each) => each.name.toLowerCase() === name.toLowerCase())
  if (tool === undefined) {
    const names = tools.map((each) => each.name)
    return say(`There is no tool ${name}. The agent has ${names.length === 0 ? "none" : names.join(", ")}.`)
  }
  const value = parsed(text.trim().replace(/[.!?]+$/, ""))
  if (isObject(value)) return { text: "", calls: [{ name: tool.name, arguments: value }] }
  return say(`What follows "with" must be a JSON object, such as {"day": "Friday"}.`)
}

/** The result of a tool in words, because JSON cannot be understood when it is spoken. `slots: 9:00, 10:30; free: yes`. */
const inWords = (value: unknown): string => {
  if (typeof value === "boolean") return value ? "yes" : "no"
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(inWords).join(", ")
  if (!isRecord(value)) return String(value ?? "none")
  const fields = Object.entries(value).map(([name, field]) => `${name.replaceAll("_", " ")}: ${inWords(field)}`)
  return fields.length === 0 ? "none" : fields.join("; ")
}

/** What the model says of an empty result without a script: an answer without words would be a fault. */
const nothing = "The tool returned nothing."

const isEmpty = (result: unknown): boolean =>
  result === null || result === "" || (isRecord(result) && Object.keys(result).length === 0)

/** The answer to the conversation without a script: tools by command and their results, otherwise the caller's words. */
export const replyWithoutScript = (request: ModelRequest): ScriptReply => {
  const last = request.messages.at(-1)
  if (last?.role === "tool") {
    const result = parsed(last.content)
    if (isEmpty(result)) return { text: nothing, calls: [] }
    if (isRecord(result) && !isFailed(result)) return { text: inWords(result), calls: [] }
  }
  const command = isUser(last) ? replyToCommand(last?.content ?? "", request) : undefined
  return command ?? replyTo({ rules: [] }, request)
}

/** The script's answer to the conversation. Throws `SlowPattern`. */
export const replyTo = (script: Script, request: ModelRequest): ScriptReply => {
  const { messages, variables } = request
  const last = messages.findLast(isUser)
  const user = last?.content ?? ""
  if (messages.at(-1)?.role === "tool") return replyToResults(script, request, user)
  const match = findRule(script, user, spentRules(script, messages))
  const values: Values = { user, groups: match?.groups ?? [], variables, result: undefined }
  return act(match?.rule ?? { say: script.otherwise ?? "You said: {{user}}" }, values)
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

/** Whether a message of the user is the engine's request to extract data, and not what the caller said. */
const isInstruction = (text: string): boolean => text.startsWith("The phone call is over. Draw from it the values")

/**
 * The fields of `extract` as one JSON object: the first group (or the whole match) of each pattern over all words of
 * the caller, one turn per line. A field that does not match is omitted. Throws `SlowPattern`.
 */
export const extractFrom = (script: Script, request: ModelRequest): string => {
  const words = request.messages
    .flatMap((message) => (message.role === "user" && !isInstruction(message.content) ? [message.content] : []))
    .join("\n")
    .slice(0, maxCallLength)
  const fields = Object.entries(script.extract ?? {}).flatMap(([field, pattern]) => {
    const match = matchPattern(pattern, "im", words)
    return match === null
      ? []
      : [[field, fieldValue(match[1] ?? match[0], typeOf(request.responseSchema, field))] as const]
  })
  return JSON.stringify(Object.fromEntries(fields))
}
