import { Context, Data, type Effect, type Stream } from "effect"
import type { AudioFormat } from "./Audio.ts"
import type { Numbers, Regulatory } from "./Carrier.ts"
import type { Health } from "./Health.ts"
import type { Messaging } from "./Messaging.ts"
import type { Route } from "./Route.ts"

/**
 * Why the platform refuses an incoming call. `unknown-number`: the called number is not an active number of this plugin; a
 * network that has no answer of its own for that treats it as `unavailable`.
 */
export type RejectCause = "busy" | "declined" | "unavailable" | "unknown-number"

/**
 * The state of a transfer. `ringing`: the destination's phone rings. `completed`: the caller is connected to the
 * destination. The others are failures, after which the call continues with the agent.
 */
export type TransferState = "ringing" | "completed" | "busy" | "no-answer" | "rejected" | "failed"

/** An event of an answered call. Passed to the listener synchronously and in order. */
export type CallEvent =
  /**
   * Audio in the leg's format: whole samples, any number of them. The bytes are valid only during the callback. A leg
   * that delivers packets says where they belong: `sequence` counts packets and wraps at 2^16, `timestamp` is that of
   * the first sample, counts samples, also those of pauses in which nothing is sent, and wraps at 2^32 (RFC 3550, 5.1). It
   * gives both for every packet, in the order of arrival. The others are free of gaps. A leg may stop to deliver audio
   * at any time: the engine continues it with silence.
   */
  | {
      readonly _tag: "Audio"
      readonly payload: Uint8Array
      readonly sequence?: number
      readonly timestamp?: number
    }
  /**
   * The network has stopped to carry audio, or carries it again, such as during a transfer that closes the media
   * connection. The leg stays the same. Nothing is sent meanwhile, and the caller counts as silent.
   */
  | { readonly _tag: "Media"; readonly on: boolean }
  /** The carrier's own answering-machine detection has decided who answered a call that we placed. */
  | { readonly _tag: "Answerer"; readonly verdict: "human" | "machine" | "fax" | "unknown" }
  /** A digit, emitted when it begins, once for each source that carries it. */
  | { readonly _tag: "Dtmf"; readonly digit: string; readonly source: "rfc4733" | "in-band" | "signaling" }
  /** The peer has played all audio sent before the mark, or dropped it because of `clear`. */
  | { readonly _tag: "Mark"; readonly name: string; readonly outcome: "played" | "cleared" }
  /**
   * Progress of the requested transfer: `ringing` at most once, then exactly one of the others. `reason` is for people.
   * `refused`, with `failed`: the network does not carry out the transfer, as a trunk that refuses REFER, and the
   * destination was not called. Where a network can dial, the engine then calls it as a second leg.
   */
  | {
      readonly _tag: "TransferProgress"
      readonly state: TransferState
      readonly reason?: string
      readonly refused?: boolean
    }
  | { readonly _tag: "Hold"; readonly on: boolean }
  /**
   * The call has ended; no event follows. `hangup`: the other side hung up. `failed`: the connection broke. `code` is the
   * carrier's, such as a SIP status or a Q.850 cause.
   */
  | { readonly _tag: "Ended"; readonly cause: "hangup" | "failed"; readonly code?: string; readonly reason?: string }

/**
 * When marks are confirmed. `exact`: when the caller has heard the audio. `echoed`: when it has left the network's buffer.
 * `none`: never, and the engine estimates.
 */
export type PlaybackMarks = "exact" | "echoed" | "none"

/** A codec by its name in RTP (RFC 3551, 6). */
export type LineCodec = "PCMU" | "PCMA" | "L16" | "G722"

/** How well the audio of a leg came until now. */
export interface LineQuality {
  readonly packetsLost: number
  /** Packets that came too late to be played. */
  readonly packetsLate: number
  /** Interarrival jitter in milliseconds (RFC 3550, 6.4.1), or null where it is not known. */
  readonly jitterMs: number | null
  /** What the line has now, where that may differ from the leg's format; null: not agreed yet. Absent: that of the format. */
  readonly codec?: LineCodec | null
}

/** What the agent does. `using-tool`: the model waits for a tool. */
export type AgentActivity = "listening" | "thinking" | "using-tool" | "speaking"

/**
 * What the person on the line may see of the conversation. `Saying`: the words so far of a turn that is not finished, in
 * place of those before; empty: there are none. `Said`: a finished turn, which takes the place of the words so far of its
 * role. `Latency`: the milliseconds from the end of the caller's last turn to the first frame of the answer.
 */
export type CallView =
  | { readonly _tag: "Activity"; readonly activity: AgentActivity }
  | { readonly _tag: "Saying"; readonly role: "caller" | "agent"; readonly text: string }
  | { readonly _tag: "Said"; readonly role: "caller" | "agent"; readonly text: string }
  | { readonly _tag: "Latency"; readonly ms: number }

/**
 * The media of one answered call. All methods are synchronous and must not throw: `send` is called 50 times a second
 * per call.
 */
export interface CallLeg {
  readonly format: AudioFormat
  /** The carrier's id of the call, for its support and records. */
  readonly carrierCallId?: string
  /** Absent: as the network declares. */
  readonly marks?: PlaybackMarks
  /**
   * How long audio that was sent waits until the caller hears it, in milliseconds from 0 to 3000, where the network knows.
   * The engine estimates with it what was played. Absent: 0.
   */
  readonly playoutDelayMs?: number
  /**
   * How much audio the leg accepts ahead of playback, in milliseconds from 0 to 200: it keeps it, plays it at its own pace and
   * drops it on `clear`. The engine sends that much at first, then half as much at a time, which costs fewer messages and keeps
   * the other half ahead. Sound that is not the agent's speech, such as that of another leg, still comes frame by frame.
   * Absent: 0.
   */
  readonly aheadMs?: number
  /** Whether the leg emits `Dtmf`. Absent: true. False: the engine listens for the tones in its audio. */
  readonly keyEvents?: boolean
  /** Absent where the network does not tell: the engine counts the packets itself. Also after the end of the call. Synchronous; must not throw. */
  readonly quality?: () => LineQuality
  /** Installs the only listener. Events from before are delivered to it first, in order. */
  readonly listen: (listener: (event: CallEvent) => void) => void
  /**
   * Sends one 20 ms frame in the leg's format; with `aheadMs` one or several. The caller reuses the bytes. The engine sets
   * the pace; a leg without `aheadMs` does not queue. It may be called within the listener of any leg.
   */
  readonly send: (frame: Uint8Array) => void
  /**
   * Requests a {@link CallEvent} `Mark` when all audio sent so far has been played. Several can be pending; they are
   * confirmed in order. Audio that is not confirmed counts as played 2 s after it could have been.
   */
  readonly mark: (name: string) => void
  /** Drops audio that was sent and not yet played. Pending marks are confirmed as `cleared`. */
  readonly clear: () => void
  /** Ends the call. `reason` is for people and logs. A second call does nothing. */
  readonly hangup: (reason: string) => void
  readonly sendDtmf?: (digits: string) => void
  /** Puts the person on the line on hold, or takes them back. It is not emitted as `Hold`. Absent: the network cannot. */
  readonly hold?: (on: boolean) => void
  /** Shows the conversation to the caller, where the phone has a screen. */
  readonly show?: (view: CallView) => void
  /**
   * Blind transfer to `target` (E.164 or a SIP URI), one at a time. Its progress is emitted as `TransferProgress`, the outcome
   * within {@link transferOutcomeMs}; the network gives up on a destination that does not answer. After `completed` no
   * audio passes between the agent and the caller, and only `Ended` follows: with `bridge` when one of the two parties
   * hangs up (the time until then is the duration of the transfer), with `refer` at once. `hangup` ends the call in any
   * state of a transfer.
   */
  readonly transferBlind?: (target: string) => void
}

/** Milliseconds within which a leg emits the outcome of a transfer. */
export const transferOutcomeMs = 30_000

/**
 * An incoming call ended before it was answered. `failed`: the network or the plugin could not connect it, and the record
 * has `reason` as the call's failure, which says what is wrong and what to do. Absent: the caller hung up.
 */
export class CallGone extends Data.TaggedError("CallGone")<{
  readonly reason: string
  readonly failed?: boolean
}> {}

/**
 * An outbound call was not answered. `rejected`: the phone declined. `failed`: it could not be placed. `reason` is for
 * people. In a transfer the language model gets it, and may say it to the caller: what the operator should do is `advice`.
 */
export class DialFailed extends Data.TaggedError("DialFailed")<{
  readonly outcome: "busy" | "no-answer" | "rejected" | "failed"
  readonly reason: string
  /** What the operator should do, such as which setting to check. The failure of an outbound call has it after the reason. */
  readonly advice?: string
  /** The carrier's code, such as a SIP status. */
  readonly code?: string
}> {}

/** An outbound call. */
export interface OutgoingCall {
  /** The platform's id of the call, for the peer's records. */
  readonly callId: string
  /** E.164 or a SIP URI. */
  readonly to: string
  /** The calling number of the platform, E.164. */
  readonly from: string
  /** For the network, where it carries them, such as SIP headers. */
  readonly headers?: { readonly [name: string]: string }
  /** In order of preference: the first that the network supports is used. */
  readonly formats: ReadonlyArray<AudioFormat>
}

/** What the network reports while a phone rings. The methods are synchronous. */
export interface DialProgress {
  /**
   * The call is on its way, with this id of the carrier, as in {@link CallLeg.carrierCallId}: the record of a call that is
   * not answered has it. Called again when another route is tried.
   */
  readonly onPlaced?: (carrierCallId: string) => void
  /** The phone begins to ring. */
  readonly onRinging?: () => void
  /**
   * Audio from the network before the answer, such as a ringback tone or an announcement: whole samples in `format`. The
   * bytes are valid only during the call. It belongs to no conversation: the engine does not transcribe it, and the leg
   * does not emit it again as `Audio`.
   */
  readonly onEarlyMedia?: (payload: Uint8Array, format: AudioFormat) => void
}

/** Places outbound calls. */
export interface Outbound {
  /**
   * Rings a phone and waits without a time limit until it is answered. The engine interrupts it to give up, and the
   * phone must stop ringing then. The leg lives until it ends or is hung up. `progress` is called where the network tells,
   * and not after `dial` has completed.
   */
  readonly dial: (call: OutgoingCall, progress?: DialProgress) => Effect.Effect<CallLeg, DialFailed>
}

/** Two legs could not be joined; both go on as before. */
export class BridgeFailed extends Data.TaggedError("BridgeFailed")<{ readonly reason: string }> {}

/** An inbound call that was not yet answered or rejected. */
export interface IncomingCall {
  /** The carrier's id of the call, unique within the plugin. */
  readonly id: string
  /** E.164 or a SIP URI, or null when withheld. */
  readonly from: string | null
  /** The caller's name, where the network has it. */
  readonly callerName?: string
  readonly to: string
  /**
   * The token of the call link with which the call comes (see `Host.linkState`). It says which agent is called, and from
   * which number; `from` and `to` are then not read.
   */
  readonly link?: string
  /** What the network says beside the numbers. The agent's server gets the first 30 in `call.started`, cut at 1000 characters. */
  readonly headers: { readonly [name: string]: string }
  /** Signals to the network that the call rings. `callId` is the platform's id, for the peer's records. */
  readonly ringing: (callId: string) => void
  /** Answers the call. The leg lives until it ends or is hung up. */
  readonly answer: (options: {
    readonly callId: string
    readonly formats: ReadonlyArray<AudioFormat>
  }) => Effect.Effect<CallLeg, CallGone>
  /**
   * Refuses the call, before or after `ringing`. `declined`: its link has expired or was used up. `reason` is for people
   * and logs.
   */
  readonly reject: (cause: RejectCause, reason?: string) => void
  /** Completes when the caller hangs up before the answer. Never completes otherwise. */
  readonly canceled: Effect.Effect<void>
}

/** A telephone network. A plugin provides at most one; those of several plugins run side by side. */
export class Telephony extends Context.Tag("@svc/providers/Telephony")<
  Telephony,
  {
    /** Short name, the `telephony` of the API: `simulated`, `sip`, `twilio`. */
    readonly id: string
    readonly capabilities: {
      readonly formats: ReadonlyArray<AudioFormat>
      readonly dtmfIn: boolean
      readonly dtmfOut: boolean
      /**
       * Whether legs have `transferBlind`. `bridge`: the network connects the two parties and knows when they hang up.
       * `refer`: it hands the caller over, which ends the call for the platform.
       */
      readonly transfer: "refer" | "bridge" | "none"
      /** Whether `dial` tells `onEarlyMedia`. */
      readonly earlyMedia: boolean
      readonly playbackMarks: PlaybackMarks
    }
    /** Inbound calls. Subscribed to once, for the lifetime of the plugin. */
    readonly incoming: Stream.Stream<IncomingCall>
    /** Absent when the plugin cannot place calls. */
    readonly outbound?: Outbound
    /**
     * Joins two answered legs in the network: each hears the other, and emits only `Ended` from then on. Absent: the
     * engine passes the audio between them.
     */
    readonly bridge?: (one: CallLeg, other: CallLeg) => Effect.Effect<void, BridgeFailed>
    readonly health: Effect.Effect<Health>
    /**
     * Asks the network now whether it works, without a call, for `svc plugins check`; may take 20 s. Absent: `health` is
     * all that is known.
     */
    readonly check?: Effect.Effect<Health>
    /** Absent when the plugin has no text messages. */
    readonly sms?: Messaging
    /** Absent when the plugin has no numbers for sale. */
    readonly numbers?: Numbers
    /** Absent when the plugin verifies no addresses. */
    readonly regulatory?: Regulatory
    /**
     * HTTP and WebSocket routes that the server mounts under `/telephony/<id>`. The plugin verifies signatures itself.
     */
    readonly routes: ReadonlyArray<Route>
  }
>() {}
