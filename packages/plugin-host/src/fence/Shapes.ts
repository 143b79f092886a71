import { errorSummary } from "../ErrorSummary.ts"

/**
 * What is wrong with a value that a plugin gave us, if anything. A plugin may be plain JavaScript, so nothing of what its
 * types promise is certain; a wrong value would throw later in our own code, or spoil the journal. Messages name the
 * kind of a wrong value and not the value, which may be personal data.
 */
export type Problem = string | undefined

export type Check = (value: unknown) => Problem

/** Applies a check. A value whose properties cannot be read is wrong too. */
export const problemOf = (check: Check, value: unknown): Problem => {
  try {
    return check(value)
  } catch (defect) {
    return `it cannot be read: ${errorSummary(defect)}`
  }
}

export const isRecord = (value: unknown): value is { readonly [field: string]: unknown } =>
  typeof value === "object" && value !== null

/** What a wrong value is. */
export const kindOf = (value: unknown): string => {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return "an array"
  return typeof value === "object" ? "an object" : `a ${typeof value}`
}

const kinds = {
  string: (value: unknown) => typeof value === "string",
  "string or null": (value: unknown) => value === null || typeof value === "string",
  "string or undefined": (value: unknown) => value === undefined || typeof value === "string",
  boolean: (value: unknown) => typeof value === "boolean",
  "finite number": (value: unknown) => Number.isFinite(value),
  function: (value: unknown) => typeof value === "function",
  "function or undefined": (value: unknown) => value === undefined || typeof value === "function",
  object: (value: unknown) => isRecord(value) && !Array.isArray(value),
  Uint8Array: (value: unknown) => value instanceof Uint8Array,
  Int16Array: (value: unknown) => value instanceof Int16Array
} as const

type Kind = keyof typeof kinds

/** Whether a value is of the kind; the problem names `what`. */
const is = (what: string, kind: Kind, value: unknown): Problem =>
  kinds[kind](value) ? undefined : `${what} must be ${article(kind)} ${kind}, not ${kindOf(value)}`

const article = (kind: Kind) => (/^[aeoI]/.test(kind) ? "an" : "a")

const oneOf = (what: string, values: ReadonlyArray<string | number>, value: unknown): Problem =>
  values.some((one) => one === value) ? undefined : `${what} must be one of ${values.join(", ")}`

/** The first wrong field of an object. */
const fields =
  (what: string, wanted: { readonly [field: string]: Kind }): Check =>
  (value) => {
    if (!isRecord(value)) return `${what} must be an object, not ${kindOf(value)}`
    for (const [field, kind] of Object.entries(wanted)) {
      const problem = is(`${what}.${field}`, kind, value[field])
      if (problem !== undefined) return problem
    }
    return undefined
  }

const toolCall = fields("a tool call", { id: "string", name: "string", arguments: "object" })

const tokens = (what: string, value: unknown): Problem =>
  Number.isInteger(value) && Number(value) >= 0 ? undefined : `${what} of a delta must be a whole number from 0`

/** Counts of tokens. Those from the cache are some of the input. */
const usage = ({ cachedInputTokens = 0, inputTokens, outputTokens }: { readonly [field: string]: unknown }): Problem =>
  tokens("the inputTokens", inputTokens) ??
  tokens("the outputTokens", outputTokens) ??
  tokens("the cachedInputTokens", cachedInputTokens) ??
  (Number(cachedInputTokens) > Number(inputTokens)
    ? "the cachedInputTokens of a delta must be at most its inputTokens"
    : undefined)

/** One delta of a language model. The arguments of a tool call must have JSON. */
export const modelDelta: Check = (value) => {
  if (!isRecord(value)) return `a delta must be an object, not ${kindOf(value)}`
  switch (value["_tag"]) {
    case "Text":
      return is("the text of a delta", "string", value["text"])
    case "ToolCall": {
      const call = value["call"]
      const problem = toolCall(call)
      if (problem !== undefined || !isRecord(call)) return problem
      try {
        JSON.stringify(call["arguments"])
        return undefined
      } catch (defect) {
        return `the arguments of a tool call cannot be written as JSON: ${errorSummary(defect)}`
      }
    }
    case "Usage":
      return usage(value)
    case "Done":
      return oneOf("the reason of Done", ["stop", "tool_calls", "length", "content_filter"], value["reason"])
    default:
      return "a delta must be Text, ToolCall, Usage or Done"
  }
}

/** The vectors of a batch of texts. */
export const vectors =
  (texts: number, dimensions: number): Check =>
  (value) => {
    if (!Array.isArray(value) || value.length !== texts) {
      return `the vectors must be an array of ${texts}, not ${Array.isArray(value) ? value.length : kindOf(value)}`
    }
    for (const vector of value) {
      if (!(vector instanceof Float32Array)) return `a vector must be a Float32Array, not ${kindOf(vector)}`
      if (vector.length !== dimensions) return `a vector must have ${dimensions} numbers, not ${vector.length}`
      if (!vector.every(Number.isFinite)) return "a vector has a number that is not finite"
      if (vector.every((number) => number === 0)) return "a vector has only zeros"
    }
    return undefined
  }

const embeddingFields = fields("an embedding provider", { model: "string", limits: "object" })
const isCount = (value: unknown, most: number) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most

/** What an embedding provider declares. */
export const embedding: Check = (value) => {
  const problem = embeddingFields(value)
  if (problem !== undefined || !isRecord(value)) return problem
  if (value["model"] === "") return "the model of an embedding provider has no name"
  if (!isCount(value["dimensions"], 4096)) return "its dimensions must be a whole number from 1 to 4096"
  const limits = isRecord(value["limits"]) ? value["limits"] : {}
  return isCount(limits["texts"], Infinity) && isCount(limits["characters"], Infinity)
    ? undefined
    : "its limits must have texts and characters, each a whole number from 1"
}

const speechError = fields("the error of Failed", { reason: "string" })

/** One event of a speech-to-text session. */
export const speechEvent: Check = (value) => {
  if (!isRecord(value)) return `an event must be an object, not ${kindOf(value)}`
  switch (value["_tag"]) {
    case "SpeechStarted":
    case "EndOfTurn":
      return undefined
    case "Partial":
      return is("the text of a partial", "string", value["text"])
    case "Final":
      return (
        is("the text of a final", "string", value["text"]) ??
        is("the confidence of a final", "finite number", value["confidence"])
      )
    case "Failed":
      return speechError(value["error"])
    default:
      return "an event must be SpeechStarted, Partial, Final, EndOfTurn or Failed"
  }
}

export const speechSession: Check = fields("a session", { push: "function", finish: "object" })

/** The samples of a text-to-speech provider. */
export const samples: Check = (value) => is("the samples", "Int16Array", value)

/** How much of a text has been spoken, in characters. */
export const alignment: Check = (value) =>
  Number.isInteger(value) && Number(value) >= 0 ? undefined : "an alignment must be a whole number of characters"

const legMethods = fields("a call leg", {
  format: "object",
  listen: "function",
  send: "function",
  mark: "function",
  clear: "function",
  hangup: "function",
  sendDtmf: "function or undefined",
  transferBlind: "function or undefined"
})

/** The leg of an answered call. */
export const callLeg: Check = (value) => {
  const problem = legMethods(value)
  if (problem !== undefined || !isRecord(value)) return problem
  const format = value["format"]
  if (!isRecord(format)) return "the format of a call leg must be an object"
  return (
    oneOf("the encoding of a call leg", ["mulaw", "alaw", "pcm16"], format["encoding"]) ??
    oneOf("the sample rate of a call leg", [8000, 16000, 24000], format["sampleRate"])
  )
}

const transferStates = ["ringing", "completed", "busy", "no-answer", "rejected", "failed"]

/** One event of a call leg. Audio comes 50 times a second, so it is the first case. */
export const callEvent: Check = (value) => {
  if (!isRecord(value)) return `an event must be an object, not ${kindOf(value)}`
  switch (value["_tag"]) {
    case "Audio":
      return value["payload"] instanceof Uint8Array ? undefined : is("audio", "Uint8Array", value["payload"])
    case "Dtmf":
      return typeof value["digit"] === "string" && /^[0-9*#A-D]$/.test(value["digit"])
        ? oneOf("the source of a digit", ["rfc4733", "in-band", "signaling"], value["source"])
        : "a digit must be one of 0-9, *, #, A-D"
    case "Mark":
      return (
        is("the name of a mark", "string", value["name"]) ??
        oneOf("the outcome of a mark", ["played", "cleared"], value["outcome"])
      )
    case "TransferProgress":
      return (
        oneOf("the state of a transfer", transferStates, value["state"]) ??
        is("the reason of a transfer", "string or undefined", value["reason"])
      )
    case "Hold":
      return is("the state of a hold", "boolean", value["on"])
    case "Ended":
      return (
        oneOf("the cause of Ended", ["hangup", "failed"], value["cause"]) ??
        is("the reason of Ended", "string or undefined", value["reason"])
      )
    default:
      return "an event must be Audio, Dtmf, Mark, TransferProgress, Hold or Ended"
  }
}

const incomingCallFields = fields("an incoming call", {
  id: "string",
  from: "string or null",
  to: "string",
  headers: "object",
  ringing: "function",
  answer: "function",
  reject: "function",
  canceled: "object"
})

/** A call that comes in. */
export const incomingCall: Check = (value) => {
  const problem = incomingCallFields(value)
  if (problem !== undefined || !isRecord(value)) return problem
  const headers = value["headers"]
  const wrong = isRecord(headers) ? Object.entries(headers).find(([, header]) => typeof header !== "string") : undefined
  return wrong === undefined ? undefined : is(`the header ${wrong[0]} of an incoming call`, "string", wrong[1])
}

/** A text message that comes in. */
export const incomingSms: Check = fields("a text message", {
  id: "string",
  from: "string",
  to: "string",
  message: "string"
})

/** What `send` of a text message returns. */
export const sentSms: Check = fields("the result of send", { provider_message_id: "string or null" })

/** The outcome of a call that was not answered. */
export const dialOutcome: Check = (value) =>
  oneOf("the outcome of a dial", ["busy", "no-answer", "rejected", "failed"], value)

/** What a provider reports as its health. */
export const health: Check = (value) =>
  isRecord(value) && value["healthy"] === true
    ? undefined
    : fields("health", { healthy: "boolean", reason: "string" })(value)

const routeFields = fields("a route", { path: "string" })

/** A route of a telephony plugin. */
export const route: Check = (value) => {
  const problem = routeFields(value)
  if (problem !== undefined || !isRecord(value)) return problem
  const { _tag, path } = value
  if (path !== "" && !String(path).startsWith("/")) return "the path of a route must be empty or start with a slash"
  if (_tag === "WebSocket") {
    return (
      is("accept of a route", "function", value["accept"]) ??
      is("refuse of a route", "function or undefined", value["refuse"])
    )
  }
  if (_tag !== "Http") return "a route must be Http or WebSocket"
  return (
    oneOf("the method of a route", ["GET", "POST", "DELETE"], value["method"]) ??
    is("handle of a route", "function", value["handle"])
  )
}

/** A header's name is a token; its value has visible characters of latin-1, spaces and tabs. See RFC 9110, 5.1 and 5.5. */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/

/** The server frames the message, so these are not the plugin's. See RFC 9110, 7.6.1, and RFC 9112, 6. */
const framing = new Set(["connection", "keep-alive", "trailer", "transfer-encoding"])

/** Statuses whose response has no body. See RFC 9110, 15. */
const bodiless = new Set([204, 205, 304])

const headersProblem = (headers: unknown): Problem => {
  if (headers === undefined) return undefined
  // Of a Map or Headers, which have no own fields, every header would silently be lost.
  if (!isRecord(headers) || Symbol.iterator in headers) return "the headers must be a plain object of strings"
  for (const [name, value] of Object.entries(headers)) {
    if (!headerName.test(name)) return `${JSON.stringify(name)} is not a valid header name`
    if (framing.has(name.toLowerCase())) return `the header ${name} is the server's to send`
    const problem = is(`the header ${name}`, "string", value)
    if (problem !== undefined) return problem
    if (!headerValue.test(String(value))) {
      return `the header ${name} has a character that no header may have (a line break, a control character, or one beyond latin-1); encode what comes from outside`
    }
  }
  return undefined
}

/** The response of a plugin's HTTP route. */
export const routeResponse: Check = (value) => {
  if (!isRecord(value)) return `the response must be an object, not ${kindOf(value)}`
  const { body, headers, status } = value
  if (!Number.isInteger(status) || Number(status) < 200 || Number(status) > 599) {
    return `the status must be a whole number from 200 to 599, not ${typeof status === "number" ? status : kindOf(status)}`
  }
  if (body !== undefined && typeof body !== "string" && !(body instanceof Uint8Array)) {
    return `the body must be a string or Uint8Array, not ${kindOf(body)}`
  }
  if (body !== undefined && body.length > 0 && bodiless.has(Number(status))) return `a response ${status} has no body`
  return headersProblem(headers)
}
