import type { Request } from "./ProcessRequests.ts"

/** Requests between the processes of the chat bench. Times are milliseconds. */

export interface UpstreamRequests {
  readonly address: Request<undefined, { readonly url: string }>
}

export interface ChatBurst {
  /** The origin of Svc, or of the upstream itself. */
  readonly url: string
  readonly key: string
  /** Completions at once, each on a connection of its own. */
  readonly connections: number
  readonly ms: number
}

export interface ChatBurstFigures {
  readonly completions: number
  /** Why completions had no first token, if any had none; some of them. */
  readonly failures: ReadonlyArray<string>
  /** From the request to the first token, less the time for which the upstream held it. */
  readonly added: ReadonlyArray<number>
}

export interface ChatLoadRequests {
  readonly send: Request<ChatBurst, ChatBurstFigures>
}

/** The upstream's only token: for how long it was held, from the request's arrival on. */
export const heldToken = (ms: number): string => `held ${ms.toFixed(3)}`

/** The time in the first token; undefined while that has not arrived. */
export const heldIn = (text: string): number | undefined => {
  const found = /held (\d+\.\d{3})/.exec(text)
  return found === null ? undefined : Number(found[1])
}
