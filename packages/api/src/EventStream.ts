import { Context, type Schema } from "effect"
import type { BodyWriter } from "./PlainRoutes.ts"

/**
 * Annotation of an endpoint that may answer with server-sent events: the schema of an event's data. Its handler is
 * interrupted when the client disconnects, also before it answers, although its method may be one that writes.
 */
export class EventStreamOf extends Context.Tag("@svc/api/EventStreamOf")<EventStreamOf, Schema.Schema.Any>() {}

/** What a handler returns after it answered with events. */
export class Streamed {
  readonly _tag = "Streamed"
}

/** A response of server-sent events whose head has been sent. */
export interface OpenStream extends BodyWriter {
  /** Ends the response. */
  readonly end: () => void
  /** Cuts the connection, so that the client does not take the incomplete response for a complete one. */
  readonly cut: () => void
}

/** The answer of a request as server-sent events; a request service of endpoints with {@link EventStreamOf}. */
export class EventStream extends Context.Tag("@svc/api/EventStream")<
  EventStream,
  {
    /**
     * Sends the head (status 200), once. An error of the handler before that is answered as any other. The handler then
     * ends or cuts the stream, also when it is interrupted, and completes with {@link Streamed}. Undefined when the client
     * is gone. Throws when node refuses the head.
     */
    readonly open: () => OpenStream | undefined
  }
>() {}
