/** What the processes of the bench ask each other. Times are milliseconds, memory is bytes. */

/** One question: what it takes and what it gives. */
export interface Ask<Argument, Answer> {
  readonly argument: Argument
  readonly answer: Answer
}

/** A list of questions by name. */
export type Asks<A> = { readonly [K in keyof A]: Ask<unknown, unknown> }

export interface Quantiles {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** CPU of a process while it was measured. */
export interface Effort {
  readonly cpuMs: number
  readonly wallMs: number
  /** Its main thread could have run, but others had the cores. */
  readonly waitedMs: number
  /** How late its event loop was. */
  readonly loop: Quantiles
}

export interface ServerFigures extends Effort {
  /** How late the media clock sent frames, by its own account. */
  readonly ticker: { readonly p50: number; readonly p99: number }
  /** Slots that the media clock left out after stalls. */
  readonly skipped: number
  readonly live: number
}

export interface Memory {
  readonly rss: number
  /** Live objects on the heap and outside of it, after a collection. */
  readonly held: number
}

export interface ServerAsks {
  readonly address: Ask<undefined, { readonly url: string /** Where its data is. */; readonly folder: string }>
  /** Measuring begins. */
  readonly measure: Ask<undefined, undefined>
  readonly figures: Ask<undefined, ServerFigures>
  /** Stops the world for a moment. */
  readonly memory: Ask<undefined, Memory>
  readonly live: Ask<undefined, number>
}

export interface LoadFigures extends Effort {
  /** Arrival of an utterance's frames against the first one and the pace of 20 ms. */
  readonly lateness: Quantiles
  /** The same against the earliest schedule that any frame of the utterance kept. */
  readonly jitter: Quantiles
  readonly frames: number
  /** Frames of finished utterances that never came. */
  readonly missing: number
  /** Last words of the caller sent → first frame of the agent received, where no tool was asked. */
  readonly answer: Quantiles
  /** Turns of the agent heard to their end. */
  readonly turns: number
  /** Calls that are up. */
  readonly up: number
  /** Calls that ended, were refused, or stopped answering. */
  readonly fallen: number
}

export interface Dialling {
  readonly url: string
  readonly to: string
  readonly calls: number
  /** Time over which the calls are spread. */
  readonly rampMs: number
  /** Phones send silence too, as long as the call lasts. */
  readonly continuous: boolean
}

export interface LoadAsks {
  readonly customer: Ask<undefined, { readonly url: string }>
  /** Answers once every call is answered or has failed. */
  readonly dial: Ask<Dialling, undefined>
  readonly measure: Ask<undefined, undefined>
  readonly figures: Ask<undefined, LoadFigures>
  /** Ends all calls and tells their ids. */
  readonly hangUp: Ask<undefined, ReadonlyArray<string>>
}
