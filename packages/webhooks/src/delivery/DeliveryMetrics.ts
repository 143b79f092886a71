import { Metric } from "effect"
import type { Outcome } from "./QueueRepo.ts"

/** Metrics of deliveries; see docs/operations/monitoring.md. */

const results = Metric.counter("svc_webhook_attempts_total", {
  description: "Attempts to deliver an event, by result: delivered, retried, or dead_letter after the last one",
  incremental: true
})
const resultOf = (result: "delivered" | "retried" | "dead_letter") => {
  const metric = Metric.tagged(results, "result", result)
  // Exported from the start, so that the first increase is seen.
  metric.unsafeUpdate(0, [])
  return metric
}
const delivered = resultOf("delivered")
const retried = resultOf("retried")
const deadLetter = resultOf("dead_letter")

const inFlight = Metric.gauge("svc_webhook_attempts_in_flight", {
  description: "Deliveries that this node holds: attempts without an answer, and those that wait for one"
})

/** Counts a recorded outcome, if there was an attempt. */
export const countOutcome = ({ at, error, next_at }: Outcome): void => {
  if (at === null) return
  const metric = error === null ? delivered : next_at === null ? deadLetter : retried
  metric.unsafeUpdate(1, [])
}

/** Sets how many deliveries this node holds. */
export const showInFlight = (held: number): void => inFlight.unsafeUpdate(held, [])
showInFlight(0)
