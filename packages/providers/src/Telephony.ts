import { Context, Data, type Effect, type Stream } from "effect"
import type { AudioFormat } from "./Audio.ts"
import type { Health } from "./Health.ts"
import type { Messaging } from "./Messaging.ts"
import type { Route } from "./Route.ts"

/** Why we refuse a call that we did not answer. */
export type RejectCause = "busy" | "declined" | "unavailable"

/** What the media of a call brings in. Given to the listener synchronously, in order. */
export type CallEvent =
  /** 20 ms (or another whole number of frames) of audio in the leg's format. The bytes are only valid during the call. */
  | { readonly _tag: "Audio"; readonly payload: Uint8Array }
  /** A key press, told at its beginning, once by each way by which it comes. */
  | { readonly _tag: "Dtmf"; readonly digit: string; readonly source: "rfc4733" | "in-band" | "signaling" }
  /** The peer played all audio sent before the mark, or dropped it because of `clear`. */
  | { readonly _tag: "Mark"; readonly name: string; readonly outcome: "played" | "cleared" }
  | {
      readonly _tag: "TransferProgress"
      readonly state: "ringing" | "completed" | "busy" | "no-answer" | "failed"
      readonly reason?: string
    }
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
  /** Blind transfer. Progress arrives as `TransferProgress`; after `completed` the leg is over. */
  readonly transferBlind?: (target: string) => void
}

/** The caller was gone, or the network refused, before the call was answered. */
export class CallGone extends Data.TaggedError("CallGone")<{ readonly reason: string }> {}

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
      readonly transfer: "refer" | "bridge" | "none"
      readonly earlyMedia: boolean
      readonly playbackMarks: "exact" | "echoed"
    }
    /** Calls as they come in. Taken by the engine once, for as long as the plugin lives. */
    readonly incoming: Stream.Stream<IncomingCall>
    readonly health: Effect.Effect<Health>
    /** Text messages; absent where the network has none. */
    readonly sms?: Messaging
    /** HTTP and WebSocket routes that the server mounts under `/telephony/<id>`. Signatures are verified inside. */
    readonly routes: ReadonlyArray<Route>
  }
>() {}
