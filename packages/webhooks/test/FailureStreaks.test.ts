import { describe, expect, it } from "@effect/vitest"
import { FailingWebhooks, failureStreaks } from "../src/delivery/FailureStreaks.ts"

describe("failureStreaks", () => {
  const [good, bad, gone] = [
    { status_code: 200, error: null },
    { status_code: 500, error: "status 500" },
    { status_code: 410, error: "status 410" }
  ]
  const of = (...attempts: ReadonlyArray<typeof good | typeof bad>) =>
    failureStreaks(
      attempts.map((one) => ({
        delivery: { webhook_id: 1 },
        status_code: one?.status_code ?? null,
        error: one?.error ?? null
      }))
    )[0]

  it("counts failures before the first success, after the last, and in the longest run", () => {
    expect(of(bad, bad, good, bad, bad, bad, good, bad)).toMatchObject({
      failures: 6,
      had_success: true,
      leading: 2,
      longest: 3,
      trailing: 1,
      gone: false
    })
    expect(of(bad, bad)).toMatchObject({ failures: 2, had_success: false, leading: 2, trailing: 2, longest: 2 })
    expect(of(good)).toMatchObject({ failures: 0, had_success: true, leading: 0, trailing: 0, longest: 0 })
    expect(of(gone)).toMatchObject({ gone: true, failures: 1 })
    expect(of(gone, good)).toMatchObject({ gone: true, failures: 1 })
  })

  it("counts each webhook separately", () => {
    const both = failureStreaks([
      { delivery: { webhook_id: 1 }, ...bad },
      { delivery: { webhook_id: 2 }, ...good },
      { delivery: { webhook_id: 1 }, ...bad }
    ])
    expect(both.map(({ failures, webhook_id }) => [webhook_id, failures])).toEqual([
      [1, 2],
      [2, 0]
    ])
  })
})

describe("FailingWebhooks", () => {
  const attempt = (webhook_id: number, error: string | null) => ({ delivery: { webhook_id }, status_code: null, error })

  it("changedBy returns failures, and the successes that end a streak", () => {
    const webhooks = new FailingWebhooks()
    const changed = (...attempts: ReadonlyArray<ReturnType<typeof attempt>>) =>
      webhooks.changedBy(attempts).map(({ webhook_id }) => webhook_id)
    expect(changed(attempt(1, null), attempt(2, null))).toEqual([])
    expect(changed(attempt(1, "status 500"), attempt(2, null))).toEqual([1])
    expect(changed(attempt(1, null), attempt(2, null))).toEqual([1])
    expect(changed(attempt(1, null))).toEqual([])
    webhooks.add(2)
    expect(changed(attempt(1, null), attempt(2, null))).toEqual([2])
    expect(changed(attempt(2, null))).toEqual([])
  })
})
