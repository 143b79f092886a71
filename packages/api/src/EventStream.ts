import { Context, type Effect, type Schema } from "effect"
import type { StreamedBody } from "./PlainRoutes.ts"

/**
 * Annotation of an endpoint that may answer with server-sent events: the schema of an event's data. Its handler is
 * interrupted when the client disconnects, also before it answers, although its method may be one that writes.
 */
export class EventStreamOf extends Context.Tag("@svc/api/EventStreamOf")<EventStreamOf, Schema.Schema.Any>() {}

/** What a handler returns after it answered with events. */
export class Streamed {
  readonly _tag = "Streamed"
}

/** The answer of a request as server-sent events; a request service of endpoints with {@link EventStreamOf}. */
export class EventStream extends Context.Tag("@svc/api/EventStream")<
  EventStream,
  {
    /**
     * Sends the head (status 200) and then the body, until the body has ended. An error of the handler before that is
     * answered as any other. When the body fails or is interrupted, the connection is cut.
     */
    readonly send: (body: StreamedBody) => Effect.Effect<Streamed>
  }
>() {}
