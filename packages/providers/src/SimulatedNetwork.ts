import { Schema } from "effect"

/**
 * The messages of the simulated telephone network, `WS /telephony/simulated`: JSON, one object per message. Here,
 * because the plugin and the phones on its network (the simulator, tests) share it, and the simulator does not import
 * plugins.
 */

/** How a registered number reacts to a call. */
export const Behaviour = Schema.Literal("answer", "busy", "no-answer", "reject", "voicemail", "manual")
export type Behaviour = typeof Behaviour.Type

/** What the network can report about who answered a call. */
export const Verdict = Schema.Literal("human", "machine", "fax", "unknown")
export type Verdict = typeof Verdict.Type

/** From a phone to the network. */
export const ClientMessage = Schema.Union(
  Schema.Struct({
    event: Schema.Literal("dial"),
    to: Schema.String,
    from: Schema.String,
    /** Also send the agent's audio as `media`. */
    audio: Schema.optional(Schema.Boolean),
    /** Share of media frames lost on the way to the server, 0..1. */
    loss: Schema.optional(Schema.Number.pipe(Schema.between(0, 1))),
    /** Noise added to the caller's audio, in dB below full scale speech (higher is quieter). */
    noise_db: Schema.optional(Schema.Number),
    /** Media frames reach the server up to this many milliseconds late. */
    jitter_ms: Schema.optional(Schema.Number.pipe(Schema.between(0, 2000)))
  }),
  /** Base64 mu-law, 8 kHz. */
  Schema.Struct({ event: Schema.Literal("media"), payload: Schema.String }),
  /** The network speaks the text in tone speech as the caller. */
  Schema.Struct({ event: Schema.Literal("say"), text: Schema.String }),
  Schema.Struct({ event: Schema.Literal("dtmf"), digits: Schema.String.pipe(Schema.pattern(/^[0-9*#]+$/)) }),
  Schema.Struct({ event: Schema.Literal("hangup") }),
  Schema.Struct({
    event: Schema.Literal("register"),
    numbers: Schema.Array(Schema.String),
    behaviour: Behaviour,
    /** Milliseconds of ringing before it answers or declines; 200 by default. */
    ring_ms: Schema.optional(Schema.Number),
    /** Also send the agent's audio as `media`. */
    audio: Schema.optional(Schema.Boolean),
    /** What the network's own detection reports about who answered; absent: it reports nothing. */
    verdict: Schema.optional(Verdict),
    /** Milliseconds from the answer to the verdict; 0 by default. */
    verdict_ms: Schema.optional(Schema.Number)
  }),
  Schema.Struct({ event: Schema.Literal("answer"), call_ref: Schema.String }),
  Schema.Struct({ event: Schema.Literal("reject"), call_ref: Schema.String, cause: Schema.optional(Schema.String) })
)
export type ClientMessage = typeof ClientMessage.Type

/** From the network to a phone. */
export const ServerMessage = Schema.Union(
  Schema.Struct({ event: Schema.Literal("registered"), numbers: Schema.Array(Schema.String) }),
  Schema.Struct({ event: Schema.Literal("ringing") }),
  Schema.Struct({ event: Schema.Literal("answered"), call_id: Schema.String }),
  /** The text that the caller heard, decoded from the audio that was played. `final`: the utterance has ended. */
  Schema.Struct({ event: Schema.Literal("heard"), text: Schema.String, final: Schema.Boolean }),
  Schema.Struct({ event: Schema.Literal("media"), payload: Schema.String }),
  Schema.Struct({ event: Schema.Literal("clear") }),
  Schema.Struct({ event: Schema.Literal("dtmf"), digits: Schema.String }),
  Schema.Struct({ event: Schema.Literal("transferred"), destination: Schema.String }),
  Schema.Struct({ event: Schema.Literal("sms"), to: Schema.String, from: Schema.String, message: Schema.String }),
  Schema.Struct({ event: Schema.Literal("incoming"), call_ref: Schema.String, from: Schema.String, to: Schema.String }),
  /** The call was refused before it rang. */
  Schema.Struct({ event: Schema.Literal("rejected"), cause: Schema.String }),
  /** The other side ended the call. */
  Schema.Struct({ event: Schema.Literal("hangup"), cause: Schema.String }),
  Schema.Struct({ event: Schema.Literal("error"), message: Schema.String })
)
export type ServerMessage = typeof ServerMessage.Type
