import { type Check, fields, is, isRecord, kindOf, oneOf, type Problem } from "./Shapes.ts"

/** What is wrong with a value of a telephone network. */

const legMethods = fields("a call leg", {
  format: "object",
  listen: "function",
  send: "function",
  mark: "function",
  clear: "function",
  hangup: "function",
  sendDtmf: "function or undefined",
  hold: "function or undefined",
  show: "function or undefined",
  transferBlind: "function or undefined",
  quality: "function or undefined",
  carrierCallId: "string or undefined"
})

const milliseconds = (name: string, most: number, value: unknown): Problem =>
  value === undefined || (typeof value === "number" && value >= 0 && value <= most)
    ? undefined
    : `the ${name} of a call leg must be a number from 0 to ${most}`

const formatProblem = (of: string, format: unknown): Problem =>
  isRecord(format)
    ? (oneOf(`the encoding of ${of}`, ["mulaw", "alaw", "pcm16"], format["encoding"]) ??
      oneOf(`the sample rate of ${of}`, [8000, 16000], format["sampleRate"]))
    : `the format of ${of} must be an object`

/** Audio before the answer, with its format. */
export const earlyMedia: Check = (value) =>
  isRecord(value)
    ? (is("early media", "Uint8Array", value["payload"]) ?? formatProblem("early media", value["format"]))
    : "early media must be an object"

/** The leg of an answered call. */
export const callLeg: Check = (value) => {
  const problem = legMethods(value)
  if (problem !== undefined || !isRecord(value)) return problem
  return (
    formatProblem("a call leg", value["format"]) ??
    (value["keyEvents"] === undefined ? undefined : is("the keyEvents of a call leg", "boolean", value["keyEvents"])) ??
    (value["marks"] === undefined
      ? undefined
      : oneOf("the marks of a call leg", ["exact", "echoed", "none"], value["marks"])) ??
    milliseconds("playoutDelayMs", 3000, value["playoutDelayMs"]) ??
    milliseconds("aheadMs", 200, value["aheadMs"])
  )
}

/** A number of a packet, where the network has them. */
const count = (what: string, most: number, value: unknown): Problem =>
  value === undefined || (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= most)
    ? undefined
    : `${what} must be a whole number from 0 to ${most}`

const packetCounts = fields("a quality", { packetsLost: "finite number", packetsLate: "finite number" })

/** The quality of a leg's audio. */
export const lineQuality: Check = (value) => {
  const problem = packetCounts(value)
  if (problem !== undefined || !isRecord(value)) return problem
  const { codec, jitterMs } = value
  return (
    (jitterMs === null ? undefined : is("its jitterMs", "finite number", jitterMs)) ??
    (codec === undefined || codec === null ? undefined : oneOf("its codec", ["PCMU", "PCMA", "L16", "G722"], codec))
  )
}

const transferStates = ["ringing", "completed", "busy", "no-answer", "rejected", "failed"]

/** One event of a call leg. Audio comes 50 times a second, so it is the first case. */
export const callEvent: Check = (value) => {
  if (!isRecord(value)) return `an event must be an object, not ${kindOf(value)}`
  switch (value["_tag"]) {
    case "Audio":
      if (!(value["payload"] instanceof Uint8Array)) return is("audio", "Uint8Array", value["payload"])
      return (
        count("the sequence of audio", 0xffff, value["sequence"]) ??
        count("the timestamp of audio", 0xffff_ffff, value["timestamp"])
      )
    case "Media":
      return is("on", "boolean", value["on"])
    case "Answerer":
      return oneOf("a verdict", ["human", "machine", "fax", "unknown"], value["verdict"])
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
        is("the reason of a transfer", "string or undefined", value["reason"]) ??
        (value["refused"] === undefined
          ? undefined
          : is("the field refused of a transfer", "boolean", value["refused"]))
      )
    case "Hold":
      return is("the state of a hold", "boolean", value["on"])
    case "Ended":
      return (
        oneOf("the cause of Ended", ["hangup", "failed"], value["cause"]) ??
        is("the reason of Ended", "string or undefined", value["reason"]) ??
        is("the code of Ended", "string or undefined", value["code"])
      )
    default:
      return "an event must be Audio, Media, Dtmf, Mark, Answerer, TransferProgress, Hold or Ended"
  }
}

const incomingCallFields = fields("an incoming call", {
  id: "string",
  from: "string or null",
  to: "string",
  callerName: "string or undefined",
  link: "string or undefined",
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

const unhealthy = fields("health", { healthy: "boolean", reason: "string" })

/** What a provider reports as its health. */
export const health: Check = (value) => (isRecord(value) && value["healthy"] === true ? undefined : unhealthy(value))

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
      is("refuse of a route", "function or undefined", value["refuse"]) ??
      is("admit of a route", "function or undefined", value["admit"])
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
