/** Code of which every mutant should be noticed by a test. */
export interface Target {
  readonly name: string
  /** Files and folders, from the root of the repository. */
  readonly sources: ReadonlyArray<string>
  /** Files and folders of tests that may notice. */
  readonly tests: ReadonlyArray<string>
  /** The least percentage of mutants to be killed. */
  readonly threshold: number
  /** Whether tests need a database server. */
  readonly database: boolean
}

export const targets: ReadonlyArray<Target> = [
  {
    name: "conversation",
    sources: ["packages/conversation/src"],
    tests: ["packages/conversation/test"],
    threshold: 90,
    database: false
  },
  {
    name: "ledger",
    sources: [
      "packages/api/src/Money.ts",
      ...["Billing", "CallCharge", "CallSlotsRepo", "Holds", "LedgerRepo", "Money"].map(
        (name) => `packages/billing/src/${name}.ts`
      )
    ],
    tests: ["packages/billing/test"],
    threshold: 90,
    database: true
  },
  {
    name: "delivery",
    sources: ["DeliveryRequest", "EventMatch", "FailureStreaks", "InFlight", "PendingDeliveries", "RetrySchedule"].map(
      (name) => `packages/webhooks/src/delivery/${name}.ts`
    ),
    // Without tests that restart or block servers.
    tests: [
      "DeliveryFanOut",
      "DeliveryRequest",
      "DeliveryWorker",
      "FailureStreaks",
      "FirstAttempt",
      "InFlight",
      "InFlightRoom",
      "PendingDeliveries",
      "ReceiverClient",
      "RetrySchedule",
      "AgentWebhooks",
      "Webhooks"
    ].map((name) => `packages/webhooks/test/${name}.test.ts`),
    threshold: 90,
    database: true
  }
]
