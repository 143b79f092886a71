import { createHmac } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { account, Busy, lettersTo, press, until, webhookOf } from "./Town.ts"

layer(Busy)("deliveries", (it) => {
  it.effect("an event reaches every webhook that wants it, signed, in its envelope", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhook = yield* webhookOf(owner, ["call.dtmf.received"])
      const deaf = yield* webhookOf(owner, ["call.ended"])
      const [id] = yield* press(owner, ["one"])
      const [letter] = yield* until(lettersTo(webhook.url), (all) => all.length > 0)
      expect(JSON.parse(letter?.body ?? "")).toEqual({
        id,
        event: "call.dtmf.received",
        timestamp: expect.stringMatching(/^1970-01-01T.*Z$/),
        api_version: "2026-11-01",
        org_id: owner.org_id,
        project_id: owner.project_id,
        agent_id: owner.agent.public_id,
        data: expect.objectContaining({ action: "one", digit: "5" })
      })
      const at = letter?.headers["x-webhook-timestamp"] ?? ""
      expect(at).toMatch(/^\d+$/)
      const expected = createHmac("sha256", webhook.secret)
        .update(`${at}.`)
        .update(letter?.body ?? "")
        .digest("hex")
      expect(letter?.headers).toEqual({
        "content-type": "application/json",
        "user-agent": "Svc-API/1.0",
        "x-webhook-event": "call.dtmf.received",
        "x-webhook-timestamp": at,
        "x-webhook-signature": `sha256=${expected}`,
        "x-svc-api-version": "2026-11-01",
        "x-svc-delivery": id
      })
      expect(yield* lettersTo(deaf.url)).toEqual([])
    })
  )
})
