import type { CallTimeline } from "@svc/api/calls/CallTimeline"
import type { PhoneNumber } from "@svc/api/numbers/PhoneNumber"
import { callTimeline } from "@svc/api/testing/CallFixtures"

/** The timeline of a call in progress. Its id may be short, so that tests are easy to read. */
export const timelineOf = (
  callId: string,
  change: Partial<CallTimeline> = {},
  call: Partial<CallTimeline["call"]> = {}
): CallTimeline =>
  callTimeline(change, {
    // A brand: ids of tests need not have the length of real ones.
    call_id: callId as CallTimeline["call"]["call_id"],
    from_number: "+15550000002",
    to_number: "+15550000001",
    rate_per_minute: 0.1,
    ...call
  })

/** A phone number of the project. */
export const phoneNumber = (number: string, id = 1): PhoneNumber => ({
  id,
  number,
  country: "US",
  type: "local",
  agent_id: null,
  address_id: null,
  monthly_cost_eur: 0,
  telephony: "simulated",
  status: "active",
  purchased_at: "2026-11-01T09:30:00.000Z"
})
