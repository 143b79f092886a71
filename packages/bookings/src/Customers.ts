import { SqlClient } from "@effect/sql"
import type { BookingCustomer } from "@svc/api/bookings/BookingCustomer"
import type { BookingCustomerCreate, BookingCustomerUpdate } from "@svc/api/bookings/BookingCustomerInput"
import type { Deleted } from "@svc/api/bookings/BookingCustomersApi"
import type { bookingEventData } from "@svc/api/bookings/BookingEvents"
import type { BookingCustomerId } from "@svc/api/Ids"
import type { WorkspacePrincipal } from "@svc/api/Workspace"
import { InvalidState, PaygLimit, ResourceNotFound, type ValidationError } from "@svc/api/WorkspaceError"
import { WorkspaceLimits } from "@svc/auth/WorkspaceLimits"
import { Outbox } from "@svc/database/Outbox"
import { atomically } from "@svc/database/Transaction"
import { Context, DateTime, Effect, Layer, type Option } from "effect"
import * as CustomerDetails from "./CustomerDetails.ts"
import { CustomersRepo } from "./CustomersRepo.ts"
import { IdempotencyRepo } from "./IdempotencyRepo.ts"

/** The organization that the customers belong to. */
type Org = WorkspacePrincipal["org"]

/**
 * The customers who book with an organization (docs/reference/workspace.md). Each change and its event are one
 * transaction. An unknown or malformed id, or one of another organization, is the same `ResourceNotFound`. Deleted
 * customers are kept for 30 days, see {@link PurgeWorker}. For lists see {@link CustomerList}.
 */
export class Customers extends Context.Tag("@svc/bookings/Customers")<
  Customers,
  {
    /** `booking_customer.created`. */
    readonly create: (
      org: Org,
      body: BookingCustomerCreate
    ) => Effect.Effect<BookingCustomer, ValidationError | PaygLimit>
    /** A customer in the recycle bin is found only with `deleted`. */
    readonly get: (org: Org, id: string, deleted: Deleted) => Effect.Effect<BookingCustomer, ResourceNotFound>
    /** `booking_customer.updated`, unless nothing changes. An anonymized customer cannot be changed. */
    readonly update: (
      org: Org,
      id: string,
      changes: BookingCustomerUpdate
    ) => Effect.Effect<BookingCustomer, ResourceNotFound | ValidationError | InvalidState>
    /** Moves to the recycle bin, with all personal data: `booking_customer.deleted`. */
    readonly remove: (
      org: Org,
      id: string
    ) => Effect.Effect<{ readonly id: BookingCustomerId; readonly deleted_at: string }, ResourceNotFound>
    /** Removes the known ones of these ids in one transaction, with one event each. */
    readonly removeMany: (
      org: Org,
      ids: ReadonlyArray<string>
    ) => Effect.Effect<{
      readonly deleted: ReadonlyArray<BookingCustomerId>
      readonly not_found: ReadonlyArray<string>
    }>
    /** Restores from the recycle bin: `booking_customer.restored`. `InvalidState` if not in it, or anonymized. */
    readonly restore: (
      org: Org,
      id: string
    ) => Effect.Effect<BookingCustomer, ResourceNotFound | InvalidState | PaygLimit>
    /**
     * Erases personal data irreversibly from the customer (deleted or not), from events within their retention, and
     * from stored answers of idempotency keys: `booking_customer.updated`. Idempotent.
     */
    readonly anonymize: (org: Org, id: string) => Effect.Effect<BookingCustomer, ResourceNotFound>
  }
>() {
  static readonly layer: Layer.Layer<
    Customers,
    never,
    CustomersRepo | IdempotencyRepo | Outbox | WorkspaceLimits | SqlClient.SqlClient
  > = Layer.effect(
    Customers,
    Effect.gen(function* () {
      const repo = yield* CustomersRepo
      const idempotency = yield* IdempotencyRepo
      const outbox = yield* Outbox
      const { paygCustomers } = yield* WorkspaceLimits
      const transaction = atomically(yield* SqlClient.SqlClient)

      const today = Effect.map(DateTime.now, DateTime.formatIsoDateUtc)

      const found = (customer: Option.Option<BookingCustomer>) =>
        Effect.catchTag(customer, "NoSuchElementException", () => new ResourceNotFound())

      const emit = (org: Org, event: keyof typeof bookingEventData, customers: ReadonlyArray<BookingCustomer>) =>
        outbox.appendAll(
          customers.map((customer) => ({
            event,
            org_id: org.id,
            project_id: null,
            agent_id: null,
            call_id: null,
            timestamp: customer.updated_at,
            data: { customer_id: customer.id, customer }
          }))
        )

      /** Checks that the plan has room for one more customer, also for concurrent requests. */
      const checkLimit = Effect.fnUntraced(function* (org: Org) {
        if (org.tier !== "payg") return
        if ((yield* repo.countLive(org.id, paygCustomers)) >= paygCustomers) {
          return yield* new PaygLimit({ message: `The free plan has room for ${paygCustomers} booking customers` })
        }
      })

      /** Moves customers to the recycle bin and emits their events. */
      const moveToBin = Effect.fnUntraced(function* (org: Org, ids: ReadonlyArray<string>) {
        const removed = yield* repo.softDelete(org.id, ids)
        yield* emit(org, "booking_customer.deleted", removed)
        return removed.map(({ deleted_at, id, updated_at }) => ({ id, deleted_at: deleted_at ?? updated_at }))
      })

      return {
        create: Effect.fn("Customers.create")(function* (org, body) {
          const details = yield* CustomerDetails.change(undefined, body, yield* today)
          yield* checkLimit(org)
          const customer = yield* repo.insert(org.id, details)
          yield* emit(org, "booking_customer.created", [customer])
          return customer
        }, transaction),

        get: (org, id, deleted) => Effect.flatMap(repo.find(org.id, id, deleted), found),

        update: Effect.fn("Customers.update")(function* (org, id, changes) {
          const before = yield* found(yield* repo.lock(org.id, id, "exclude"))
          if (before.is_anonymized) {
            return yield* new InvalidState({ message: "An anonymized customer cannot be changed" })
          }
          const details = CustomerDetails.of(before)
          const after = yield* CustomerDetails.change(details, changes, yield* today)
          if (CustomerDetails.equal(details, after)) return before
          const customer = yield* repo.update(before.id, after)
          yield* emit(org, "booking_customer.updated", [customer])
          return customer
        }, transaction),

        remove: Effect.fn("Customers.remove")(function* (org, id) {
          const [removed] = yield* moveToBin(org, [id])
          return removed ?? (yield* new ResourceNotFound())
        }, transaction),

        removeMany: Effect.fn("Customers.removeMany")(function* (org, ids) {
          const requested = [...new Set(ids)]
          const deleted = (yield* moveToBin(org, requested)).map(({ id }) => id)
          const deletedIds = new Set<string>(deleted)
          return { deleted, not_found: requested.filter((id) => !deletedIds.has(id)) }
        }, transaction),

        restore: Effect.fn("Customers.restore")(function* (org, id) {
          const before = yield* found(yield* repo.lock(org.id, id, "include"))
          if (before.is_anonymized) {
            return yield* new InvalidState({ message: "A GDPR-anonymized customer cannot be restored" })
          }
          if (before.deleted_at === null) return yield* new InvalidState({ message: "The customer is not deleted" })
          yield* checkLimit(org)
          const customer = yield* repo.restore(before.id)
          yield* emit(org, "booking_customer.restored", [customer])
          return customer
        }, transaction),

        anonymize: Effect.fn("Customers.anonymize")(function* (org, id) {
          const before = yield* found(yield* repo.lock(org.id, id, "include"))
          if (before.is_anonymized) return before
          const customer = yield* repo.anonymize(before.id, CustomerDetails.anonymous(before))
          yield* outbox.replaceCustomer(customer)
          yield* idempotency.replaceCustomer(customer)
          yield* emit(org, "booking_customer.updated", [customer])
          return customer
        }, transaction)
      }
    })
  )
}
