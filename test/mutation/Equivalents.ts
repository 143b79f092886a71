/** A mutant that behaves as the code does, so no test can notice it. */
export interface Equivalent {
  readonly file: string
  /** As the report describes it. */
  readonly change: string
  readonly reason: string
}

const billing = "packages/billing/src/Billing.ts"
const holds = "packages/billing/src/Holds.ts"

export const equivalents: ReadonlyArray<Equivalent> = [
  { file: billing, change: "10_000 → 20001", reason: "bounds memory alone" },
  {
    file: billing,
    change: 'tier === "enterprise" && !concurrentCallsEnforced → !concurrentCallsEnforced',
    reason: "only enterprise may be without an enforced limit"
  },
  { file: billing, change: "free → false", reason: "saves a lock alone" },
  { file: billing, change: "costs.length > 0 → true", reason: "the ledger ignores an empty list" },
  { file: billing, change: "costs.length > 0 → costs.length >= 0", reason: "the ledger ignores an empty list" },
  {
    file: billing,
    change: "costs.filter(({ amount_eur }) => !BigDecimal.isZero(amount_eur)) → costs",
    reason: "the ledger ignores amounts of 0"
  },
  { file: holds, change: "Option.isSome(current) → false", reason: "a nested transaction is a savepoint" },
  { file: holds, change: "BigDecimal.isZero(amount) → false", reason: "saves a lock alone" },
  { file: "packages/billing/src/CallCharge.ts", change: "value > 0 → value >= 0", reason: "0 stays 0 either way" },
  {
    file: "packages/billing/src/LedgerRepo.ts",
    change: "moving.length === 0 → false",
    reason: "the statement adds nothing for empty arrays"
  },
  {
    file: "packages/webhooks/src/delivery/FailureStreaks.ts",
    change: "remove webhook_id",
    reason: "the field is set again in the update"
  },
  {
    file: "packages/webhooks/src/delivery/FailureStreaks.ts",
    change: "this.#ids.size === 0 && attempts.every(({ error }) => error === null) → false",
    reason: "saves work alone"
  },
  {
    file: "packages/webhooks/src/delivery/InFlight.ts",
    change: "load.attempts < maxAttempts → true",
    reason: "an attempt has just ended, so there are fewer"
  },
  {
    file: "packages/webhooks/src/delivery/InFlight.ts",
    change: "load.attempts < maxAttempts → load.attempts <= maxAttempts",
    reason: "an attempt has just ended, so there are fewer"
  },
  {
    file: "packages/webhooks/src/delivery/InFlight.ts",
    change: "key !== undefined && sequence?.current === delivery.id → sequence?.current === delivery.id",
    reason: "without a key there is no sequence"
  },
  {
    file: "packages/webhooks/src/delivery/PendingDeliveries.ts",
    change: "newest > (this.#newestIds.get(webhookId) ?? 0) → newest >= (this.#newestIds.get(webhookId) ?? 0)",
    reason: "sets the value that is there"
  },
  {
    file: "packages/webhooks/src/delivery/PendingDeliveries.ts",
    change: "at < first → at <= first",
    reason: "sets the value that is there"
  },
  {
    file: "packages/webhooks/src/delivery/InFlight.ts",
    change: "this.#held.size === 0 && this.#loads.size === 0 → this.#loads.size === 0",
    reason: "a held delivery has a load"
  },
  {
    file: "packages/webhooks/src/delivery/InFlight.ts",
    change: "key !== undefined → true",
    reason: "a sequence with an undefined key is never looked up"
  },
  {
    file: "packages/webhooks/src/delivery/InFlight.ts",
    change: "key === undefined → false",
    reason: "no sequence has an undefined key"
  },
  { file: "packages/billing/src/Money.ts", change: "0 → 1", reason: "0 has the same value with any scale" },
  {
    file: "packages/conversation/src/answers/CallConfig.ts",
    change: 'typeof name === "string" && platformTools.has(name) → platformTools.has(name)',
    reason: "the set has strings alone"
  },
  {
    file: "packages/conversation/src/answers/ExtractedValues.ts",
    change: 'dateTime.exec(text)?.[1] ?? "" → dateTime.exec(text)?.[1]',
    reason: "undefined is no date either"
  },
  {
    file: "packages/conversation/src/answers/ExtractedValues.ts",
    change: 'typeof value === "number" && Number.isFinite(value) → Number.isFinite(value)',
    reason: "only numbers are finite"
  },
  {
    file: "packages/conversation/src/answers/ExtractionAnswer.ts",
    change: "!(error instanceof UnusablePattern) → false",
    reason: "a pattern throws nothing else"
  },
  {
    file: "packages/conversation/src/answers/LinearPattern.ts",
    change: "error instanceof Error → true",
    reason: "RegExp throws a SyntaxError"
  },
  {
    file: "packages/conversation/src/answers/LinearPattern.ts",
    change: "step === undefined || seen.has(index) → seen.has(index)",
    reason: "every index is that of a step"
  },
  {
    file: "packages/conversation/src/answers/LinearPattern.ts",
    change: 'this.#rest.startsWith("?") → false',
    reason: "Node 20 rejects other groups before"
  },
  {
    file: "packages/conversation/src/answers/PlatformTools.ts",
    change: 'issue?.message ?? "not valid" → issue?.message',
    reason: "an error has an issue"
  },
  { file: "packages/conversation/src/answers/PostCallSms.ts", change: "0 → 1", reason: "both have one digit" },
  {
    file: "packages/conversation/src/CallRecord.ts",
    change: "state.ended_at ?? 0 → state.ended_at",
    reason: "null counts as 0 in a sum"
  },
  {
    file: "packages/conversation/src/Replay.ts",
    change: "a < b → a <= b",
    reason: "no two keys of an object are equal"
  },
  { file: "packages/conversation/src/Replay.ts", change: "1 → 2", reason: "only the sign counts" }
]
