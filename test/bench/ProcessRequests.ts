/** Requests between the processes of the bench. Times are milliseconds, memory is bytes. */

/** The telephone network of a run. */
export type Network = "simulated" | "browser" | "sip"

/** One request: its argument and its answer. */
export interface Request<Argument, Answer> {
  readonly argument: Argument
  readonly answer: Answer
}

/** Requests by name. */
export type Requests<A> = { readonly [K in keyof A]: Request<unknown, unknown> }

export interface Quantiles {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** CPU and event loop of a process while it was measured. */
export interface ProcessFigures {
  readonly cpuMs: number
  readonly wallMs: number
  /** Time in which its main thread was ready but other programs used the cores. */
  readonly waitedMs: number
  /** Event-loop delay. */
  readonly loop: Quantiles
}

export interface ServerFigures extends ProcessFigures {
  /** Lateness of sent frames, measured by the media clock. */
  readonly ticker: { readonly p50: number; readonly p99: number }
  /** Slots that the media clock skipped after stalls. */
  readonly skipped: number
  readonly live: number
}

export interface Memory {
  readonly rss: number
  /** Live objects on the heap and outside of it, after a collection. */
  readonly held: number
}

export interface ServerRequests {
  readonly address: Request<undefined, { readonly url: string /** Where its data is. */; readonly folder: string }>
  /** Measuring begins. */
  readonly measure: Request<undefined, undefined>
  readonly figures: Request<undefined, ServerFigures>
  /** Blocks the process briefly. */
  readonly memory: Request<undefined, Memory>
  readonly live: Request<undefined, number>
  /** The longest stall of the event loop since the last request, see StallMeter. */
  readonly stall: Request<undefined, number>
}

export interface LoadFigures extends ProcessFigures {
  /** Arrival of an utterance's frames against the first one and the pace of 20 ms. */
  readonly lateness: Quantiles
  /** The same against the earliest schedule that any frame of the utterance kept. */
  readonly jitter: Quantiles
  readonly frames: number
  /** Frames of finished utterances that never came. */
  readonly missing: number
  /** Last words of the caller sent → first frame of the agent received, where no tool was asked. */
  readonly answer: Quantiles
  /** Turns of the agent that were received completely. */
  readonly turns: number
  /** Calls in progress. */
  readonly up: number
  /** Calls that ended early, were rejected, or stopped answering. */
  readonly dropped: number
}

export interface Dialling {
  /** What the callers are: phones of the simulated network, pages of the call link at `url`, or SIP phones. */
  readonly network?: Network
  readonly url: string
  readonly to: string
  readonly calls: number
  /** Time over which the calls are spread. */
  readonly rampMs: number
  /** Phones send silence too, as long as the call lasts. */
  readonly continuous: boolean
}

export interface LoadRequests {
  readonly customer: Request<undefined, { readonly url: string }>
  /** Answers once every call is answered or has failed. */
  readonly dial: Request<Dialling, undefined>
  readonly measure: Request<undefined, undefined>
  readonly figures: Request<undefined, LoadFigures>
  /** Ends all calls; answers with their ids. */
  readonly hangUp: Request<undefined, ReadonlyArray<string>>
}
