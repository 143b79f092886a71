import type { TranscriptUpdatedRequest } from "@svc/api/callbacks/CallStarted"
import { Effect } from "effect"
import type { ServerRequestFailed } from "./AgentServerClient.ts"

/** Turns that may wait for a slow server; the oldest are dropped, because the conversation does not need the answer. */
const backlog = 50

/** The update failed, and `dropped` older ones were not sent. */
type OnFailed = (failure: ServerRequestFailed, dropped: number) => void

/** Sends `transcript.updated` to an agent's server: one request at a time, so that they arrive in order. */
export interface TranscriptUpdates {
  readonly send: (body: TranscriptUpdatedRequest) => void
}

export const make = (
  send: (body: TranscriptUpdatedRequest) => Effect.Effect<void, ServerRequestFailed>,
  background: (effect: Effect.Effect<void>) => void,
  onFailed: OnFailed = () => {}
): TranscriptUpdates => {
  const queue: Array<TranscriptUpdatedRequest> = []
  let dropped = 0
  let sending = false
  const work: Effect.Effect<void> = Effect.gen(function* () {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const body = next
      yield* Effect.catchAll(send(body), (failure) => {
        onFailed(failure, dropped)
        dropped = 0
        return Effect.logDebug(`transcript.updated of ${body.call_id} failed: ${failure.reason}`)
      })
    }
    sending = false
  })
  return {
    send: (body) => {
      if (queue.length >= backlog) {
        queue.shift()
        dropped++
      }
      queue.push(body)
      if (sending) return
      sending = true
      background(work)
    }
  }
}
