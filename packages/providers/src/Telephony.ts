import { Context, Data, type Effect, type Stream } from "effect"
import type { AudioFormat } from "./Audio.ts"
import type { Health } from "./Health.ts"
import type { Messaging } from "./Messaging.ts"
import type { Route } from "./Route.ts"

/** Why we refuse a call that we did not answer. */
export type RejectCause = "busy" | "declined" | "unavailable"

/**
 * How far a transfer is. `ringing`: the destination's phone rings. `completed`: the caller is with the destination. The
 * others are failures, after which the call is ours again, as if nothing had been.
 */
export type TransferState = "ringing" | "completed" | "busy" | "no-answer" | "rejected" | "failed"

/** What the media of a call brings in. Given to the listener synchronously, in order. */
export type CallEvent =
  /** 20 ms (or another whole number of frames) of audio in the leg's format. The bytes are only valid during the call. */
  | { readonly _tag: "Audio"; readonly payload: Uint8Array }
  /** A key press, told at its beginning, once by each way by which it comes. */
  | { readonly _tag: "Dtmf"; readonly digit: string; readonly source: "rfc4733" | "in-band" | "signaling" }
  /** The peer played all audio sent before the mark, or dropped it because of `clear`. */
  | { readonly _tag: "Mark"; readonly name: string; readonly outcome: "played" | "cleared" }
  /** Of the transfer that was asked for: `ringing` at most once, then one of the others, exactly once. `reason` is for people. */
  | { readonly _tag: "TransferProgress"; readonly state: TransferState; readonly reason?: string }
  | { readonly _tag: "Hold"; readonly on: boolean }
  /** The other side is gone; nothing follows. `hangup`: it hung up. `failed`: the connection broke. */
  | { readonly _tag: "Ended"; readonly cause: "hangup" | "failed"; readonly reason?: string }

/** One answered call's media. All methods are synchronous and never throw: they are called 50 times a second per call. */
export interface CallLeg {
  readonly format: AudioFormat
  /** Installs the one listener; events that came before it are delivered first, in order. */
  readonly listen: (listener: (event: CallEvent) => void) => void
  /** Sends one 20 ms frame in the leg's format. The caller re-uses the bytes afterwards. The engine paces; the leg does not queue. */
  readonly send: (frame: Uint8Array) => void
  /** Asks for a {@link CallEvent} `Mark` once everything sent so far has been played. */
  readonly mark: (name: string) => void
  /** Drops audio that was sent and not yet played. Nothing sent before it is heard afterwards; waiting marks come back `cleared`. */
  readonly clear: () => void
  /** Ends the call. `reason` is for people and logs. Calling it twice does nothing. */
  readonly hangup: (reason: string) => void
  readonly sendDtmf?: (digits: string) => void
  /**
   * Blind transfer to `target` (E.164), one at a time. How it goes is told as `TransferProgress`, the outcome within
   * {@link transferOutcomeMs}; the network gives up on a destination that does not answer. After `completed` the agent
   * neither hears nor is heard, and only `Ended` follows: where the network bridges the two, when one of them has hung
   * up (what lies between is the length of the transfer), else at once. `hangup` ends the call in any state of it.
   */
  readonly transferBlind?: (target: string) => void
}

/** Within so many milliseconds a leg tells the outcome of a transfer. */
export const transferOutcomeMs = 30_000

/** The caller was gone, or the network refused, before the call was answered. */
export class CallGone extends Data.TaggedError("CallGone")<{ readonly reason: string }> {}

/** Why a call that we placed was not answered. `rejected`: the phone declined. `failed`: it could not be placed. `reason` is for people. */
export class DialFailed extends Data.TaggedError("DialFailed")<{
  readonly outcome: "busy" | "no-answer" | "rejected" | "failed"
  readonly reason: string
}> {}

/** A call that we place. */
export interface OutgoingCall {
  /** Our id of the call, for the peer's records. */
  readonly callId: string
  /** E.164. */
  readonly to: string
  /** E.164: the number of ours that the call comes from. */
  readonly from: string
  /** The first that the network can do is used. */
  readonly formats: ReadonlyArray<AudioFormat>
}

/** Places calls. */
export interface Outbound {
  /**
   * Rings a phone and waits until it is answered, however long that takes: the engine gives up by interrupting, upon
   * which the phone stops ringing. The leg lives until it ends or is hung up.
   */
  readonly dial: (call: OutgoingCall) => Effect.Effect<CallLeg, DialFailed>
}

/** A call that waits for our decision. */
export interface IncomingCall {
  /** The carrier's id of the call; unique within the plugin. */
  readonly id: string
  /** E.164, or null when withheld. */
  readonly from: string | null
  readonly to: string
  readonly headers: { readonly [name: string]: string }
  /** Tells the network that the call rings; `callId` is ours, for the peer's records. */
  readonly ringing: (callId: string) => void
  /** Accepts. The leg lives until it ends or is hung up. */
  readonly answer: (options: {
    readonly callId: string
    readonly formats: ReadonlyArray<AudioFormat>
  }) => Effect.Effect<CallLeg, CallGone>
  /** Refuses, before or after `ringing`. `reason` is for people and logs. */
  readonly reject: (cause: RejectCause, reason?: string) => void
  /** Completes when the caller gave up before we answered. Never completes otherwise. */
  readonly canceled: Effect.Effect<void>
}

/** A telephone network. Plugins give one; several run side by side. */
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
       * Whether legs can `transferBlind`. `bridge`: the network stays between the two, and knows when they are done.
       * `refer`: it hands the caller over, and the call ends for us with that.
       */
      readonly transfer: "refer" | "bridge" | "none"
      readonly earlyMedia: boolean
      readonly playbackMarks: "exact" | "echoed"
    }
    /** Calls as they come in. Taken by the engine once, for as long as the plugin lives. */
    readonly incoming: Stream.Stream<IncomingCall>
    /** Absent where the network can only be called. */
    readonly outbound?: Outbound
    readonly health: Effect.Effect<Health>
    /** Text messages; absent where the network has none. */
    readonly sms?: Messaging
    /** HTTP and WebSocket routes that the server mounts under `/telephony/<id>`. Signatures are verified inside. */
    readonly routes: ReadonlyArray<Route>
  }
>() {}
