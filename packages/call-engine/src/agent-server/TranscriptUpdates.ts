import type { TranscriptUpdatedRequest } from "@svc/api/callbacks/CallStarted"
import { Effect } from "effect"
import type { CallbackFailed } from "./Callbacks.ts"

/** Turns that may wait for a slow server; older ones are dropped, because nobody waits for the answer (spec 6.6). */
const backlog = 50

/** Tells an agent's server what was said: one request at a time, so that they arrive in order. */
export interface TranscriptTeller {
  readonly tell: (body: TranscriptUpdatedRequest) => void
}

export const make = (
  send: (body: TranscriptUpdatedRequest) => Effect.Effect<void, CallbackFailed>,
  background: (effect: Effect.Effect<void>) => void
): TranscriptTeller => {
  const queue: Array<TranscriptUpdatedRequest> = []
  let sending = false
  const work: Effect.Effect<void> = Effect.gen(function* () {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const body = next
      yield* Effect.catchAll(send(body), ({ reason }) =>
        Effect.logDebug(`transcript.updated of ${body.call_id} was not taken: ${reason}`)
      )
    }
    sending = false
  })
  return {
    tell: (body) => {
      if (queue.length >= backlog) queue.shift()
      queue.push(body)
      if (sending) return
      sending = true
      background(work)
    }
  }
}
