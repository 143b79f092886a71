/** The messages of Telnyx on a media connection ("Stream call media over WebSocket"). Unknown ones are `undefined`. */
export type MediaMessage =
  | {
      readonly event: "start"
      readonly callControlId: string | undefined
      /** As in RTP: `PCMU`, `PCMA`, `G722`, `L16`. */
      readonly encoding: string | undefined
    }
  | {
      readonly event: "media"
      readonly payload: Uint8Array
      /** Counts the packets of the track; undefined when it is not said. */
      readonly chunk: number | undefined
      /** Milliseconds since the start of the stream. */
      readonly timestamp: number | undefined
    }
  | { readonly event: "dtmf"; readonly digit: string }
  | { readonly event: "mark"; readonly name: string }
  | { readonly event: "stop" }
  | { readonly event: "error"; readonly reason: string }

const fields = (value: unknown): { readonly [name: string]: unknown } => Object(value)
const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)
/** Telnyx writes numbers as text. */
const count = (value: unknown): number | undefined => {
  const number = typeof value === "string" && value !== "" ? Number(value) : value
  return typeof number === "number" && Number.isFinite(number) && number >= 0 ? number : undefined
}

/** Reads a message. Undefined: a message that the plugin does not use. Throws when it violates the protocol. */
export const readMediaMessage = (data: string): MediaMessage | undefined => {
  const message = fields(JSON.parse(data))
  switch (message["event"]) {
    case "media": {
      const { chunk, payload, timestamp, track } = fields(message["media"])
      if (track !== undefined && track !== "inbound" && track !== "inbound_track") return undefined
      if (typeof payload !== "string") throw new TypeError("media without a payload")
      return {
        event: "media",
        payload: Buffer.from(payload, "base64"),
        chunk: count(chunk) ?? count(message["sequence_number"]),
        timestamp: count(timestamp)
      }
    }
    case "start": {
      const { call_control_id: callControlId, media_format: format } = fields(message["start"])
      return { event: "start", callControlId: text(callControlId), encoding: text(fields(format)["encoding"]) }
    }
    case "dtmf": {
      const digit = text(fields(message["dtmf"])["digit"])
      return digit === undefined || !/^[0-9*#A-Da-d]$/.test(digit) ? undefined : { event: "dtmf", digit }
    }
    case "mark": {
      const name = text(fields(message["mark"])["name"])
      return name === undefined ? undefined : { event: "mark", name }
    }
    case "stop":
      return { event: "stop" }
    case "error": {
      const { code, detail, title } = fields(message["payload"])
      return { event: "error", reason: [code, title, detail].filter((part) => part !== undefined).join(" ") }
    }
    default:
      return undefined
  }
}

export const mediaMessage = (audio: Uint8Array): string =>
  JSON.stringify({
    event: "media",
    media: { payload: Buffer.from(audio.buffer, audio.byteOffset, audio.length).toString("base64") }
  })

export const markMessage = (name: string): string => JSON.stringify({ event: "mark", mark: { name } })

export const clearMessage = JSON.stringify({ event: "clear" })
