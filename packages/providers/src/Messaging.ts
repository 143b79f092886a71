import { Data, type Effect, type Stream } from "effect"

/** A text message to a phone. */
export interface OutgoingSms {
  /** The platform's id, the same when the message is sent again. See {@link Messaging.deliversOnce}. */
  readonly id: string
  /** E.164. */
  readonly to: string
  /** One of the platform's numbers in E.164, or a name of up to 11 characters. */
  readonly from: string
  readonly sender_type: "number" | "alphanumeric"
  readonly message: string
}

/** A text message to one of the platform's numbers. */
export interface IncomingSms {
  /** The carrier's id. */
  readonly id: string
  /** E.164, or a name. */
  readonly from: string
  /** E.164. */
  readonly to: string
  readonly message: string
}

/** The network did not accept a message; `reason` is one plain sentence. */
export class SmsFailed extends Data.TaggedError("SmsFailed")<{
  readonly reason: string
  /**
   * True when the answer was lost, so that the network may have accepted the message after all: a timeout, a connection
   * that broke after the request. Absent: it was not accepted.
   */
  readonly mayBeSent?: boolean
}> {}

/** The text messages of a telephone network. */
export interface Messaging {
  /**
   * Whether the network knows the platform's ids: a message that is sent again with its id is delivered once and gives
   * the answer of the first time. Only then does the platform send again after it lost an answer. Absent: false.
   */
  readonly deliversOnce?: boolean
  /** Completes with the carrier's id when the network has accepted the message. */
  readonly send: (sms: OutgoingSms) => Effect.Effect<{ readonly provider_message_id: string | null }, SmsFailed>
  /** Messages to the platform's numbers. Subscribed to once, for the lifetime of the plugin. */
  readonly incoming: Stream.Stream<IncomingSms>
}
