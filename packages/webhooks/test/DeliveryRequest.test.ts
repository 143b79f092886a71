import { createHmac } from "node:crypto"
import { describe, expect, it } from "vitest"
import { deliveryRequest } from "../src/delivery/DeliveryRequest.ts"

const webhook = { url: "https://example.com/hook", secret: "whsec_test" }
const event = {
  event_id: "evt_1",
  event: "call.ended",
  timestamp: "2026-01-01T00:00:00.000Z",
  api_version: "2026-01-01",
  org_id: 7,
  project_id: null,
  agent_id: null,
  data: '{"b":1,"a":2}'
}

describe("deliveryRequest", () => {
  it("posts the envelope to the webhook's URL, with data as it is stored", () => {
    const { body, url } = deliveryRequest(webhook, event, 0)
    expect(url).toBe(webhook.url)
    expect(body).toBe(
      '{"id":"evt_1","event":"call.ended","timestamp":"2026-01-01T00:00:00.000Z","api_version":"2026-01-01",' +
        '"org_id":7,"project_id":null,"agent_id":null,"data":{"b":1,"a":2}}'
    )
  })

  it("has X-Webhook-Timestamp in whole Unix seconds, rounded down, and signs it with the body", () => {
    const { body, headers } = deliveryRequest(webhook, event, 1_767_225_600_999)
    expect(headers["x-webhook-timestamp"]).toBe("1767225600")
    const hmac = createHmac("sha256", webhook.secret).update(`1767225600.${body}`).digest("hex")
    expect(headers["x-webhook-signature"]).toContain(hmac)
  })

  it("marks test and replayed deliveries, each with its own header, and no others", () => {
    const marks = (mark?: "test" | "replay") => {
      const { headers } = deliveryRequest(webhook, event, 0, mark)
      return [headers["x-svc-test-event"], headers["x-svc-replay"]]
    }
    expect(marks()).toEqual([undefined, undefined])
    expect(marks("test")).toEqual(["1", undefined])
    expect(marks("replay")).toEqual([undefined, "1"])
  })
})
