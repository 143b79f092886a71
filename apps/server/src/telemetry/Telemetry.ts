import type { CallOwner } from "@svc/call-engine/record/CallsRepo"
import { Context, type Duration } from "effect"
import type { Family } from "../http/metrics/PrometheusText.ts"
import type { Span } from "./CallSpans.ts"

/** Takes what is to be exported; synchronous. What there is no room for is dropped and counted. */
export interface Sink<Item> {
  readonly offer: (item: Item) => void
  /** How many it takes now. */
  readonly room: () => number
}

/** A call whose trace is to be exported. */
export type TracedCall = Pick<CallOwner, "public_id" | "project_id">

/** What of a server is exported by OTLP. */
export interface Exports {
  readonly traces?: {
    readonly spans: Sink<Span>
    /** Whether a call has a trace, by its trace's id. */
    readonly isSampled: (traceId: string) => boolean
  }
  readonly metrics?: {
    readonly interval: Duration.Duration
    readonly families: Sink<Family>
  }
}

/** The export of traces and metrics; undefined unless `OTEL_EXPORTER_OTLP_ENDPOINT` or one like it is set. */
export class Telemetry extends Context.Reference<Telemetry>()("@svc/server/Telemetry", {
  defaultValue: (): Exports | undefined => undefined
}) {}
