import type { RouteSocket } from "@svc/providers/Route"
import type { SharedTimeout } from "@svc/providers/SharedTimeout"
import type { FinalStatus } from "./CallStatus.ts"
import type { StreamMessage } from "./StreamMessage.ts"

export interface ExpectedStream {
  readonly twiml: string
  readonly forget: () => void
}

/** A call whose media stream is there. */
export interface StartedCall {
  readonly sid: string
  /** The number that a transfer shows; undefined: the caller's. */
  readonly callerId: string | undefined
  readonly socket: RouteSocket
  readonly streamSid: string
}

/** The call to the destination of a transfer; `none`: there is none, or none that goes on. */
export type DestinationState = "answered" | "ringing" | "none" | "unknown"

/** What a call needs of the plugin. All synchronous. */
export interface CallNetwork {
  /** Milliseconds, by a clock that no change of the system's time moves. */
  readonly now: () => number
  readonly flushAfter: SharedTimeout
  /**
   * A TwiML that connects the call with a new stream, which is given to `connected`. `sid`: of the call, if it is known.
   * `forget`: the stream is no longer expected.
   */
  readonly connect: (
    sid: string | undefined,
    connected: (socket: RouteSocket, start: Extract<StreamMessage, { event: "start" }>) => void
  ) => ExpectedStream
  /** A TwiML that calls the target, and reports its progress to the call with this SID. */
  readonly dial: (sid: string, target: string, callerId: string | undefined) => string
  /** Gives Twilio a new TwiML for the call. `failed`: it was not accepted. */
  readonly update: (sid: string, twiml: string, failed: (reason: string) => void) => void
  /** Hangs up, and calls `done` when Twilio has answered, or could not be reached. */
  readonly hangUp: (sid: string, done: () => void) => void
  /** Asks for the state: the final one, else whether it is known that the call goes on. */
  readonly ask: (sid: string, answered: (status: FinalStatus | undefined, goesOn: boolean) => void) => void
  /** Asks for the state of the calls to destinations of transfers of this call. */
  readonly askDestination: (sid: string, answered: (state: DestinationState) => void) => void
  readonly onOver: (call: { readonly sid: string }) => void
  /** The media stream broke. */
  readonly onInterrupted: (sid: string) => void
}
