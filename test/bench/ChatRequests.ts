import type { Request } from "./ProcessRequests.ts"

/** Requests between the processes of the chat bench. Times are milliseconds. */

export interface UpstreamRequests {
  readonly address: Request<undefined, { readonly url: string }>
}

/** Completions of one place for a time. */
export interface ChatBurst {
  /** The origins, of Svc or of the upstream itself, that are asked in turn. */
  readonly urls: ReadonlyArray<string>
  readonly key: string
  readonly ms: number
  readonly load:
    | {
        /** Completions a second at each origin, at random times, however many are running. */
        readonly rate: number
      }
    | {
        /** Completions at once, each on a connection of its own: the next one is sent when one has ended. */
        readonly connections: number
      }
}

/** The completions of one origin. */
export interface ChatBurstFigures {
  readonly completions: number
  /** Why completions had no first token, if any had none; some of them. */
  readonly failures: ReadonlyArray<string>
  /** From the request to the first token, less the time for which the upstream held it. */
  readonly added: ReadonlyArray<number>
}

export interface ChatLoadRequests {
  /** The figures of each origin, in their order. */
  readonly send: Request<ChatBurst, ReadonlyArray<ChatBurstFigures>>
}

/** The upstream's only token: for how long it was held, from the request's arrival on. */
export const heldToken = (ms: number): string => `held ${ms.toFixed(3)}`

/** The time in the first token; undefined while that has not arrived. */
export const heldIn = (text: string): number | undefined => {
  const found = /held (\d+\.\d{3})/.exec(text)
  return found === null ? undefined : Number(found[1])
}
