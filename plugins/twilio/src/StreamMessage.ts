/**
 * The messages of a media stream of Twilio. See https://www.twilio.com/docs/voice/media-streams/websocket-messages.
 * `chunk` counts the messages of a track from 1; `timestamp` is in milliseconds since the start of the stream. Both are
 * undefined where they are missing.
 */
export type StreamMessage =
  | {
      readonly event: "media"
      /** Base64. */
      readonly payload: string
      readonly chunk: number | undefined
      readonly timestamp: number | undefined
    }
  | { readonly event: "mark"; readonly name: string }
  | { readonly event: "dtmf"; readonly digit: string }
  | {
      readonly event: "start"
      readonly streamSid: string
      readonly callSid: string
      readonly token: string | undefined
    }
  | { readonly event: "connected" }
  | { readonly event: "stop" }

const parsed = (data: string): unknown => {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}

/** Twilio writes numbers as text. */
const count = (value: unknown): number | undefined => {
  const text = typeof value === "number" ? String(value) : value
  return typeof text === "string" && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

/**
 * The message, or undefined: it is none that is known, or one of another stream than `streamSid`. Without a schema, because a
 * call has 50 a second.
 */
export const readStreamMessage = (data: string | Uint8Array, streamSid?: string): StreamMessage | undefined => {
  if (typeof data !== "string") return undefined
  const message = Object(parsed(data))
  if (streamSid !== undefined && typeof message.streamSid === "string" && message.streamSid !== streamSid)
    return undefined
  const part = Object(message[message.event])
  switch (message.event) {
    case "media": {
      const { chunk, payload, timestamp, track } = part
      if (typeof payload !== "string" || track === "outbound") return undefined
      return { event: "media", payload, chunk: count(chunk), timestamp: count(timestamp) }
    }
    case "mark":
      return typeof part.name === "string" ? { event: "mark", name: part.name } : undefined
    case "dtmf":
      return typeof part.digit === "string" && /^[0-9A-D*#]$/.test(part.digit)
        ? { event: "dtmf", digit: part.digit }
        : undefined
    case "start": {
      const { callSid, customParameters } = part
      const started: unknown = part.streamSid ?? message.streamSid
      const token: unknown = Object(customParameters).token
      if (typeof started !== "string" || typeof callSid !== "string") return undefined
      return { event: "start", streamSid: started, callSid, token: typeof token === "string" ? token : undefined }
    }
    case "connected":
      return { event: "connected" }
    case "stop":
      return { event: "stop" }
    default:
      return undefined
  }
}
