import { describe, expect, it } from "@effect/vitest"
import { webhookEvents } from "@svc/api/events/WebhookEvents"
import { Either } from "effect"
import {
  agentWebhookRules,
  type ManagedWebhookBody,
  type ManagedWebhookChange,
  managedWebhookChange,
  projectWebhookRules
} from "../src/ManagedWebhook.ts"

const url = "https://hooks.example.com/events"
const other = "https://hooks.example.com/other"
const active = { url, events: ["call.started"], is_active: true }
const disabled = { ...active, is_active: false }
const everything = { ...active, events: ["*"] }
const both = ["call.ended", "call.started"]

const refused = "webhook_events needs a webhook_url"
type Outcome = ManagedWebhookChange | typeof refused

const outcomeOf = (...call: Parameters<typeof managedWebhookChange>): Outcome =>
  Either.match(managedWebhookChange(...call), {
    onLeft: ({ details, message }) => {
      expect(details).toEqual({ webhook_events: message })
      return message === refused ? refused : expect.fail(message)
    },
    onRight: (change) => change
  })

describe("a managed webhook's webhook_url and webhook_events", () => {
  const rows: ReadonlyArray<{ readonly body: ManagedWebhookBody; readonly without: Outcome; readonly with: Outcome }> =
    [
      { body: {}, without: "keep", with: "keep" },
      { body: { webhook_events: both }, without: refused, with: { url, events: both } },
      { body: { webhook_url: null }, without: "keep", with: "remove" },
      { body: { webhook_url: "" }, without: "keep", with: "remove" },
      { body: { webhook_url: null, webhook_events: both }, without: refused, with: refused },
      { body: { webhook_url: "", webhook_events: both }, without: refused, with: refused },
      {
        body: { webhook_url: other, webhook_events: both },
        without: { url: other, events: both },
        with: { url: other, events: both }
      },
      {
        body: { webhook_url: other, webhook_events: ["call.ended", "call.ended"] },
        without: { url: other, events: ["call.ended"] },
        with: { url: other, events: ["call.ended"] }
      },
      {
        body: { webhook_url: other, webhook_events: ["call.ended", "*"] },
        without: { url: other, events: ["*"] },
        with: { url: other, events: ["*"] }
      }
    ]

  it.each(rows)("follow the table: $body", ({ body, with: expected, without }) => {
    for (const rules of [agentWebhookRules, projectWebhookRules]) {
      expect(outcomeOf(rules, undefined, body)).toEqual(without)
      expect(outcomeOf(rules, active, body)).toEqual(expected)
      expect(outcomeOf(rules, disabled, body)).toEqual(expected)
    }
  })

  it("without webhook_events give a new webhook the owner's default events, and keep those of an existing one", () => {
    expect(outcomeOf(agentWebhookRules, undefined, { webhook_url: url })).toEqual({ url, events: ["*"] })
    expect(outcomeOf(projectWebhookRules, undefined, { webhook_url: url })).toEqual({ url, events: webhookEvents })
    for (const rules of [agentWebhookRules, projectWebhookRules]) {
      expect(outcomeOf(rules, active, { webhook_url: other })).toEqual({ url: other, events: active.events })
    }
  })

  const unchanged: ReadonlyArray<readonly [typeof active, ManagedWebhookBody]> = [
    [active, { webhook_url: url }],
    [active, { webhook_events: ["call.started"] }],
    [active, { webhook_url: url, webhook_events: ["call.started", "call.started"] }],
    [everything, { webhook_url: url }],
    [everything, { webhook_events: ["*"] }],
    [everything, { webhook_events: webhookEvents }]
  ]
  it.each(unchanged)(
    "that name what %j has already keep an agent's webhook and rewrite a project's: %j",
    (current, body) => {
      expect(outcomeOf(agentWebhookRules, current, body)).toBe("keep")
      expect(outcomeOf(projectWebhookRules, current, body)).toMatchObject({ url })
    }
  )

  it.each(unchanged)("that name what a disabled webhook has, %j, make it active: %j", (current, body) => {
    for (const rules of [agentWebhookRules, projectWebhookRules]) {
      expect(outcomeOf(rules, { ...current, is_active: false }, body)).toMatchObject({ url })
    }
  })
})
