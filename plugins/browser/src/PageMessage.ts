import { Either, Schema } from "effect"

/** `n` counts the numbered messages of the page in a call, from 1; a page that reconnects repeats those that were lost. */
const n = { n: Schema.Int.pipe(Schema.positive()) }

/**
 * The messages of the page. All are JSON, except the microphone's audio: binary messages of PCM16, little-endian at 16
 * kHz. A message has one frame of 20 ms; the first after a silence, in which none is sent, has up to 15 frames before it.
 * `ack`: how many numbered messages of the server the page has. `ping`: the page is alive; sent while it has no audio.
 */
const PageMessage = Schema.Union(
  Schema.Struct({ event: Schema.Literal("mark"), name: Schema.String, ...n }),
  Schema.Struct({ event: Schema.Literal("dtmf"), digit: Schema.String.pipe(Schema.pattern(/^[0-9*#]$/)), ...n }),
  Schema.Struct({ event: Schema.Literal("hangup") }),
  Schema.Struct({ event: Schema.Literal("ack"), received: Schema.Int.pipe(Schema.nonNegative()) }),
  Schema.Struct({ event: Schema.Literal("ping") })
)
export type PageMessage = typeof PageMessage.Type

const decode = Schema.decodeEither(Schema.parseJson(PageMessage))

/** The longest JSON message, in characters. */
const maxText = 1000

/** The message, or undefined: it is none. */
export const readPageMessage = (text: string): PageMessage | undefined =>
  text.length > maxText ? undefined : Either.getOrUndefined(decode(text))

/**
 * The messages to the page that are numbered, in the order in which they are sent, the agent's audio included: binary
 * messages of one frame. `calling`: the call is offered; `resume` is the key with which the page may
 * reconnect. `mark` is to be confirmed when the audio before it has been heard. `clear`: the audio that has not been heard
 * is to be dropped, with its marks. `dtmf`: the agent presses keys. `refused`: there will be no call.
 */
export type CallMessage =
  | { readonly event: "calling"; readonly resume: string; readonly resume_within_ms: number }
  | { readonly event: "ringing"; readonly call_id: string }
  | { readonly event: "answered" }
  | { readonly event: "mark"; readonly name: string }
  | { readonly event: "clear" }
  | { readonly event: "dtmf"; readonly digits: string }
  | { readonly event: "activity"; readonly activity: string }
  | { readonly event: "saying" | "said"; readonly role: "caller" | "agent"; readonly text: string }
  | { readonly event: "latency"; readonly ms: number }
  | { readonly event: "refused"; readonly cause: string }
  | { readonly event: "ended"; readonly reason: string }

/** Messages to the page that are not numbered. `resumed`: `n` is that of the page's last numbered message. */
export type LinkMessage = { readonly event: "ping" } | { readonly event: "resumed"; readonly n: number }
