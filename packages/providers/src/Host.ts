import type { Effect } from "effect"
import type { VoiceActivityDetector } from "./VoiceActivity.ts"

/** Values that belong to a log entry, such as `{ call_id }`. Never secrets or personal data. */
export interface LogFields {
  readonly [name: string]: unknown
}

/**
 * Writes to the log of the server, with the plugin's name in `plugin`. Synchronous and never throws, so that it can be
 * used in listeners. Effects need it not: what they log with `Effect.log` has the plugin's name as well.
 */
export interface HostLog {
  readonly debug: (message: string, fields?: LogFields) => void
  readonly info: (message: string, fields?: LogFields) => void
  readonly warning: (message: string, fields?: LogFields) => void
  readonly error: (message: string, fields?: LogFields) => void
}

export interface MetricOptions {
  /** One sentence for people. */
  readonly description?: string
  /** Distinguishes metrics of one name. Few values each: never ids of calls, numbers or texts. */
  readonly tags?: { readonly [name: string]: string }
}

export interface HistogramOptions extends MetricOptions {
  /** The upper bounds of the buckets, ascending. */
  readonly boundaries: ReadonlyArray<number>
}

/** Only grows. */
export interface HostCounter {
  /** Adds `by`, or 1. What is negative or not finite is ignored. */
  readonly add: (by?: number) => void
}

export interface HostHistogram {
  /** Records a value. One that is not finite is ignored. */
  readonly record: (value: number) => void
}

/**
 * Metrics of a plugin: what the server cannot measure, as bytes received or reconnections. It measures itself the times,
 * failures and health of each call into a plugin. A metric is exported as `svc_plugin_<plugin>_<name>`, with the tag
 * `plugin`. Names and tags are lower-case letters, digits and underscores, and begin with a letter; others throw.
 */
export interface HostMetrics {
  readonly counter: (name: string, options?: MetricOptions) => HostCounter
  readonly histogram: (name: string, options: HistogramOptions) => HostHistogram
}

/** Converts PCM16 mono from one sample rate to another. One for each direction of each stream. */
export interface HostResampler {
  /** The samples that can be computed with these; chunks of any length give the same as the whole stream at once. */
  readonly push: (samples: Int16Array) => Int16Array
  /** The rest, at the end of the stream. */
  readonly end: () => Int16Array
}

/**
 * Whether calls can start with a call link. `closed`: it has expired, was used up, or is none. `unknown`: the database
 * cannot be reached.
 */
export type LinkState = "open" | "closed" | "unknown"

/** What the server gives to a plugin. All methods but `linkState` and `callsLeft` are synchronous. */
export interface Host {
  /** `SVC_BASE_URL`, the public address of the server, without a slash at its end; null when it is not set. */
  readonly baseUrl: string | null
  /**
   * A folder for files of this plugin only, as an absolute path in `SVC_DATA_DIR`. It need not exist. What is in it
   * survives a restart of this server; other servers of the installation have folders of their own.
   */
  readonly folder: string
  readonly log: HostLog
  readonly metrics: HostMetrics
  /**
   * A token for a link, which only this plugin can verify, on any server of the installation. `payload` is a value of
   * JSON; it is signed and not encrypted, so the holder of the token can read it. Throws when it is not a value of JSON,
   * or when the token would be longer than {@link maxTokenLength}.
   */
  readonly sign: (payload: unknown, expiresInSeconds: number) => string
  /** The payload of a token that this plugin signed and that has not expired; undefined of any other text. */
  readonly verify: (token: string) => unknown
  /** The state of the call link with this token: one that `POST /v1/agents/<id>/browser-calls` has made. */
  readonly linkState: (token: string) => Effect.Effect<LinkState>
  /** How many more calls can start with this call link; 0 too when that is not known. A call counts when it is admitted. */
  readonly callsLeft: (token: string) => Effect.Effect<number>
  /**
   * A detector of the engine for one stream of PCM16, in frames of 20 ms, at a multiple of 8,000 Hz up to 48,000; throws for
   * another rate. Call its `close` at the end.
   */
  readonly makeVoiceActivity: (sampleRate: number) => VoiceActivityDetector
  /** The engine's resampler, for rates in Hz from 8,000 to 48,000. */
  readonly makeResampler: (from: number, to: number) => HostResampler
}

/** Characters of a token at most, so that it fits into a URL. */
export const maxTokenLength = 2000
