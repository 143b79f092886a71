import { SqlClient } from "@effect/sql"
import { pick } from "@svc/api/EntityFields"
import { DueCheck } from "@svc/cluster/DueCheck"
import { startDueTask } from "@svc/cluster/DueTask"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Outbox } from "@svc/database/Outbox"
import { CarrierUnavailable } from "@svc/providers/Carrier"
import { Providers } from "@svc/providers/Providers"
import { Duration, Effect, FiberSet, Layer, Option } from "effect"
import { Addresses } from "./Addresses.ts"
import { AddressesRepo, type AddressRow } from "./AddressesRepo.ts"
import {
  type AddressCarrier,
  addressCarriers,
  assess,
  delayAfter,
  refused,
  verificationEvent
} from "./AddressVerification.ts"

/** Questions to one carrier at once. */
const maxAtOnce = 10
/** How long an answer may take, whatever deadline the plugin has. Two fit into a claim, which is still ours then. */
const carrierTimeout = "45 seconds"

const submittedFields = ["customer_name", "street", "city", "postcode", "region", "country"] as const

/**
 * Has addresses verified (docs/reference/addresses.md). Every node runs it: it claims addresses that are due, submits
 * them, or asks for the state of their submission, and writes each change with its event in one transaction. A claim
 * ends with the node or after two minutes; the submission is then repeated with the same key. A question that two nodes
 * ask changes the address once, because the change is judged under the lock of its row.
 */
export const VerificationWorker: Layer.Layer<
  never,
  never,
  Addresses | AddressesRepo | DueCheck | NodeLease | Outbox | Providers | SqlClient.SqlClient
> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const addresses = yield* Addresses
    const repo = yield* AddressesRepo
    const lease = yield* NodeLease
    const check = yield* DueCheck
    const outbox = yield* Outbox
    const sql = yield* SqlClient.SqlClient
    const loaded = addressCarriers(yield* Providers)
    const ids = loaded.map(({ id }) => id)
    const carriers = yield* Effect.forEach(loaded, (carrier, index) =>
      Effect.map(FiberSet.make<void>(), (asked) => ({ ...carrier, asked, orphansOf: index === 0 ? ids : undefined }))
    )
    /** Carriers that did not answer the last question: only the first failure in a row is a warning. */
    const failing = new Set<string>()

    /** Applies an answer, which is judged by the state that the address has now. */
    const change = (
      { id, submission_id }: AddressRow,
      carrier: AddressCarrier,
      assessmentOf: (row: AddressRow) => ReturnType<typeof assess>
    ) =>
      Effect.gen(function* () {
        const locked = yield* repo.lock(id)
        // It was deleted, or another node has the answer already.
        if (Option.isNone(locked) || locked.value.submission_id !== submission_id) return
        const row = locked.value
        const assessment = assessmentOf(row)
        const again = delayAfter(row.status, row.attempts)
        switch (assessment._tag) {
          case "Unchanged":
            return yield* repo.askAgain(id, again)
          case "Progress":
            return yield* repo.setVerdicts(id, { ...assessment, status: row.status }, again)
          case "Impossible":
            yield* Effect.logWarning(
              `The answer of ${carrier.id} about address ${id} (submission ${submission_id}) changes nothing: ${assessment.reason}`
            )
            return yield* repo.askAgain(id, again)
          case "Transition": {
            const { number_types, status } = assessment
            const changed = yield* repo.setVerdicts(
              id,
              assessment,
              status === "verified" ? delayAfter(status, 1) : null
            )
            yield* outbox.append({
              ...verificationEvent(id, status, number_types),
              org_id: row.org_id,
              project_id: row.project_id,
              agent_id: null,
              call_id: null,
              timestamp: changed.updated_at.toISOString()
            })
          }
        }
      }).pipe(sql.withTransaction, Effect.catchTag("SqlError", Effect.die))

    const onRefusal = (row: AddressRow, carrier: AddressCarrier, reason: string) =>
      change(row, carrier, ({ number_types, status }) =>
        status === "pending"
          ? { _tag: "Transition", status: "rejected", number_types: refused(number_types, reason) }
          : { _tag: "Unchanged" }
      )

    const submit = (row: AddressRow, carrier: AddressCarrier) =>
      carrier.regulatory.submit({ key: row.submission_key, address: pick(row, submittedFields) }).pipe(
        Effect.timeoutFail({ duration: carrierTimeout, onTimeout }),
        Effect.flatMap(({ submission_id }) =>
          repo.setSubmission(row, submission_id, delayAfter("pending", row.submission_id === null ? 1 : row.attempts))
        ),
        Effect.catchTag("CarrierRefused", ({ reason }) => onRefusal(row, carrier, reason))
      )

    /** The carrier does not know the submission (it lost its data, or has not stored it yet). */
    const onUnknown = (row: AddressRow, carrier: AddressCarrier, reason: string) =>
      Effect.zipRight(
        Effect.logWarning(
          `${carrier.id} does not know the submission ${row.submission_id} of address ${row.id}: ${reason}`
        ),
        row.status === "pending" ? submit(row, carrier) : repo.askAgain(row.id, delayAfter(row.status, row.attempts))
      )

    const ask = (row: AddressRow, submissionId: string, carrier: AddressCarrier) =>
      carrier.regulatory.status(submissionId).pipe(
        Effect.timeoutFail({ duration: carrierTimeout, onTimeout }),
        Effect.flatMap((verdicts) => change(row, carrier, (current) => assess(current, verdicts))),
        Effect.catchTag("CarrierRefused", ({ reason }) => onUnknown(row, carrier, reason))
      )

    /** One question about a claimed address. */
    const work = (row: AddressRow, carrier: AddressCarrier) =>
      (row.submission_id === null ? submit(row, carrier) : ask(row, row.submission_id, carrier)).pipe(
        Effect.tap(() => Effect.sync(() => failing.delete(carrier.id))),
        Effect.catchTag("CarrierUnavailable", ({ reason }) => {
          const log = failing.has(carrier.id) ? Effect.logDebug : Effect.logWarning
          failing.add(carrier.id)
          const what = row.submission_id === null ? "could not be submitted to" : "could not be asked about at"
          return Effect.zipRight(
            log(`Address ${row.id} ${what} ${carrier.id}; trying again: ${reason}`),
            repo.askAgain(row.id, delayAfter(row.status, row.attempts))
          )
        }),
        Effect.catchAllCause((cause) =>
          Effect.logWarning(`The verification of address ${row.id} failed; trying again within two minutes`, cause)
        )
      )

    for (const { count, telephony } of yield* repo.stranded(ids)) {
      yield* Effect.logWarning(
        `${count} addresses were submitted to ${telephony}, which is not loaded: their verification goes on when it is`
      )
    }
    yield* lease.onDeath("numbers.addresses", repo.release)
    if (carriers.length === 0) return
    let wake = () => {}
    /** Begins the questions that are due to one carrier. */
    const askDue = ({ asked, orphansOf, ...carrier }: (typeof carriers)[number]) =>
      Effect.gen(function* () {
        const limit = maxAtOnce - (yield* FiberSet.size(asked))
        // The end of a question wakes the task.
        if (limit <= 0) return undefined
        const { id: node } = yield* lease.current
        const claimed = yield* repo.claim({ node, telephony: carrier.id, orphansOf, limit })
        yield* Effect.forEach(
          claimed,
          (row) =>
            FiberSet.run(
              asked,
              Effect.ensuring(
                work(row, carrier),
                Effect.sync(() => wake())
              )
            ),
          { discard: true }
        )
        return claimed.length < limit ? yield* repo.untilDue({ telephony: carrier.id, orphansOf }) : undefined
      })
    wake = yield* startDueTask({
      // Others are left by nodes that died, or by a run that failed: the check finds them.
      atLeastEvery: Duration.infinity,
      run: Effect.map(Effect.forEach(carriers, askDue), (waits) =>
        Math.min(...waits.map((wait) => wait ?? Number.POSITIVE_INFINITY))
      ),
      failureMessage: "Addresses that are due could not be read; trying again"
    })
    yield* addresses.onCreate(wake)
    const due = yield* check.register("numbers.addresses", () => repo.untilAnyDue(ids))
    yield* Effect.forkScoped(Effect.forever(Effect.map(due, wake)))
  })
)

const onTimeout = () => new CarrierUnavailable({ reason: `no answer within ${carrierTimeout}` })
