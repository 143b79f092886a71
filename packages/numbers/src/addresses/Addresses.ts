import { SqlClient } from "@effect/sql"
import { Address, type AddressCreate, AddressInUse, AddressNotFound } from "@svc/api/addresses/Address"
import type { NumberTypeVerdict } from "@svc/api/addresses/AddressFields"
import { pick } from "@svc/api/EntityFields"
import type { PrincipalProject, ProjectPrincipal } from "@svc/api/Principal"
import { ValidationError } from "@svc/api/VoiceError"
import { Outbox } from "@svc/database/Outbox"
import { CarrierUnavailable } from "@svc/providers/Carrier"
import { Providers } from "@svc/providers/Providers"
import { Context, Effect, Layer, Option, type Scope, Struct } from "effect"
import { AddressesRepo, type AddressRow } from "./AddressesRepo.ts"
import { addressCarriers, missingFields } from "./AddressVerification.ts"

const wireKeys = Struct.keys(Address.fields)

const toAddress = (row: AddressRow): Address =>
  pick({ ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() }, wireKeys)

/** Addresses have numeric ids only. */
const parseAddressId = (id: string): number | undefined => (/^[1-9][0-9]{0,14}$/.test(id) ? Number(id) : undefined)

/** How long a creation waits for the demands of a country. */
const requirementsTimeout = "3 seconds"

/**
 * The addresses of a project (docs/reference/addresses.md). The worker beside this file has them verified by the
 * carrier. An unknown or malformed id, or one of another project, is the same `AddressNotFound`.
 */
export class Addresses extends Context.Tag("@svc/numbers/Addresses")<
  Addresses,
  {
    /** Newest first; `after` is the id of the last address seen. */
    readonly list: (
      project: PrincipalProject,
      query: { readonly limit: number; readonly after?: string | undefined }
    ) => Effect.Effect<
      { readonly addresses: ReadonlyArray<Address>; readonly next_cursor: string | null },
      ValidationError
    >
    readonly get: (project: PrincipalProject, id: string) => Effect.Effect<Address, AddressNotFound>
    /**
     * `address.verification.pending`. A field that the country demands and the body lacks is a `ValidationError`,
     * unless the carrier cannot be asked: then it refuses the address later.
     */
    readonly create: (owner: ProjectPrincipal, body: AddressCreate) => Effect.Effect<Address, ValidationError>
    /** Calls a listener after each creation on this node, until the scope closes. */
    readonly onCreate: (listener: () => void) => Effect.Effect<void, never, Scope.Scope>
    /**
     * Erases the personal data of an address. Refused while an active phone number has it, or one that is being bought.
     */
    readonly remove: (project: PrincipalProject, id: string) => Effect.Effect<void, AddressNotFound | AddressInUse>
    /**
     * The address (numeric id) for a purchase, with its submission. It cannot be deleted until the caller's
     * transaction ends. None when the project (numeric id) does not have it.
     */
    readonly pin: (projectId: number, id: number) => Effect.Effect<Option.Option<AddressRow>>
  }
>() {
  static readonly layer: Layer.Layer<Addresses, never, AddressesRepo | Outbox | Providers | SqlClient.SqlClient> =
    Layer.effect(
      Addresses,
      Effect.gen(function* () {
        const repo = yield* AddressesRepo
        const outbox = yield* Outbox
        const sql = yield* SqlClient.SqlClient
        const [carrier] = addressCarriers(yield* Providers)

        const listeners = new Set<() => void>()
        const unknown = { fields: [], number_types: [] }

        /** What the carrier demands of addresses of a country; nothing when it does not say. */
        const requirementsOf = (country: string) =>
          carrier === undefined
            ? Effect.succeed(unknown)
            : carrier.regulatory.requirements(country).pipe(
                Effect.timeoutFail({
                  duration: requirementsTimeout,
                  onTimeout: () => new CarrierUnavailable({ reason: `no answer within ${requirementsTimeout}` })
                }),
                Effect.catchAll(({ reason }) =>
                  Effect.as(
                    Effect.logWarning(
                      `${carrier.id} did not say what an address in ${country} needs, so the address is accepted without that check: ${reason}`
                    ),
                    unknown
                  )
                )
              )

        const insert = Effect.fnUntraced(function* (
          owner: ProjectPrincipal,
          body: AddressCreate,
          numberTypes: ReadonlyArray<NumberTypeVerdict>
        ) {
          const row = yield* repo.insert({ org_id: owner.org.id, project_id: owner.project.id, ...body }, numberTypes)
          yield* outbox.append({
            event: "address.verification.pending",
            org_id: row.org_id,
            project_id: row.project_id,
            agent_id: null,
            call_id: null,
            timestamp: row.created_at.toISOString(),
            data: { address_id: row.id, status: "pending" }
          })
          return toAddress(row)
        }, atomically(sql))

        return {
          list: Effect.fn("Addresses.list")(function* (project, query) {
            let before: number | undefined
            if (query.after !== undefined) {
              before = parseAddressId(query.after)
              if (before === undefined || !(yield* repo.exists(project.id, before))) {
                return yield* ValidationError.field("after", "after must be the id of an address of this project")
              }
            }
            const rows = yield* repo.page({ project_id: project.id, before, limit: query.limit + 1 })
            const addresses = rows.slice(0, query.limit).map(toAddress)
            const last = addresses.at(-1)
            return {
              addresses,
              next_cursor: rows.length > query.limit && last !== undefined ? String(last.id) : null
            }
          }),
          get: Effect.fn("Addresses.get")(function* (project, id) {
            const addressId = parseAddressId(id)
            const row = addressId === undefined ? Option.none() : yield* repo.find(project.id, addressId)
            return Option.isSome(row) ? toAddress(row.value) : yield* new AddressNotFound()
          }),
          create: Effect.fn("Addresses.create")(function* (owner, body) {
            const { fields, number_types } = yield* requirementsOf(body.country)
            const missing = missingFields(body, fields).map((field) => [field, `${field} is required for this country`])
            const [first] = missing
            if (first !== undefined) {
              return yield* new ValidationError({
                message: missing.length === 1 ? (first[1] ?? "") : "Several fields are not valid",
                details: Object.fromEntries(missing)
              })
            }
            const pending = [...new Set(number_types)].map(
              (type): NumberTypeVerdict => ({ type, status: "pending", rejection_reason: null })
            )
            const created = yield* insert(owner, body, pending)
            for (const listener of listeners) listener()
            return created
          }),
          onCreate: (listener) =>
            Effect.acquireRelease(
              Effect.sync(() => void listeners.add(listener)),
              () => Effect.sync(() => listeners.delete(listener))
            ),
          remove: Effect.fn("Addresses.remove")(function* (project, id) {
            const addressId = parseAddressId(id)
            if (addressId === undefined || !(yield* repo.lockForDeletion(project.id, addressId))) {
              return yield* new AddressNotFound()
            }
            if (yield* repo.isUsed(addressId)) return yield* new AddressInUse()
            yield* repo.remove(addressId)
          }, atomically(sql)),
          pin: repo.pin
        }
      })
    )
}

/** In one transaction. */
const atomically =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(work: Effect.Effect<A, E, R>) =>
    Effect.catchTag(sql.withTransaction(work), "SqlError", Effect.die)
