import type { ClaimedDelivery } from "../src/delivery/QueueRepo.ts"

let ids = 0
/** A claimed first attempt, or retry, with an id of its own. */
export const delivery = (webhook_id: number, call_id: string | null = null, attempts = 0): ClaimedDelivery => ({
  id: ++ids,
  webhook_id,
  call_id,
  attempts,
  is_replay: false,
  is_resend: false,
  is_active: true,
  may_receive: true,
  consecutive_failures: 0,
  url: "https://example.com/",
  secret: "s",
  secret_error: null,
  event_id: `whe_${ids}`,
  event: "call.started",
  timestamp: "2026-11-01T09:30:00.000Z",
  api_version: "2026-11-01",
  org_id: 1,
  project_id: null,
  agent_id: null,
  data: "{}"
})
