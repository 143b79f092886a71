import { SqlClient } from "@effect/sql"
import { Agents } from "@svc/agents/Agents"
import { pick } from "@svc/api/EntityFields"
import {
  PhoneNumber,
  type PhoneNumberImport,
  PhoneNumberInUse,
  PhoneNumberNotFound
} from "@svc/api/numbers/PhoneNumber"
import type { PrincipalProject, ProjectPrincipal } from "@svc/api/Principal"
import { Unavailable, ValidationError } from "@svc/api/VoiceError"
import { Providers } from "@svc/providers/Providers"
import { Context, Effect, Layer, Option, Struct } from "effect"
import { candidatesOf, numberFactsOf } from "./NumberPlan.ts"
import type { NumberRoute } from "./NumberRoute.ts"
import type { OwnNumber } from "./OwnNumber.ts"
import { type NumberRow, PhoneNumbersRepo } from "./PhoneNumbersRepo.ts"

const wireKeys = Struct.keys(PhoneNumber.fields)

/** A row as the API shows it. */
export const toPhoneNumber = (row: NumberRow): PhoneNumber =>
  pick({ ...row, agent_id: row.agent_public_id, purchased_at: row.purchased_at.toISOString() }, wireKeys)

/** A number with the time when its next month of rent is due; null for a number without rent. */
export interface RentedNumber extends PhoneNumber {
  readonly next_rent_at: string | null
}

/** Numbers have numeric ids only. */
export const parseNumberId = (id: string): number | undefined =>
  /^[1-9][0-9]{0,14}$/.test(id) ? Number(id) : undefined

/** Phone numbers of a project. */
export class PhoneNumbers extends Context.Tag("@svc/numbers/PhoneNumbers")<
  PhoneNumbers,
  {
    /** Newest first; `after` is the numeric id of the last number seen. */
    readonly list: (
      project: PrincipalProject,
      query: { readonly limit: number; readonly after?: string | undefined }
    ) => Effect.Effect<
      { readonly phone_numbers: ReadonlyArray<PhoneNumber>; readonly next_cursor: string | null },
      ValidationError
    >
    /** All active numbers, newest first, with their rent. */
    readonly rents: (project: PrincipalProject) => Effect.Effect<ReadonlyArray<RentedNumber>>
    /**
     * Registers a number that the operator already owns, at no cost. A carrier that can list its numbers must have it.
     * A number is active at most once in the whole system; `PhoneNumberInUse` does not tell where. It is also the answer
     * while the number is being bought, or released at its carrier.
     */
    readonly import: (
      owner: ProjectPrincipal,
      body: PhoneNumberImport
    ) => Effect.Effect<PhoneNumber, ValidationError | PhoneNumberInUse | Unavailable>
    /**
     * Assigns the number to an agent of the same project (public or numeric id); null unassigns it. `id` is numeric.
     */
    readonly assign: (
      project: PrincipalProject,
      id: string,
      agentId: string | number | null
    ) => Effect.Effect<PhoneNumber, ValidationError | PhoneNumberNotFound>
    /** The active numbers of an agent (numeric id), oldest first. */
    readonly ofAgent: (agentId: number) => Effect.Effect<ReadonlyArray<OwnNumber>>
    /** An active number of a project (numeric id). */
    readonly ofProject: (projectId: number, number: string) => Effect.Effect<Option.Option<OwnNumber>>
    /** The active number that was dialled on this telephony plugin. `to` may lack the plus, or carry spaces. */
    readonly route: (to: string, telephony: string) => Effect.Effect<Option.Option<NumberRoute>>
  }
>() {
  static readonly layer: Layer.Layer<PhoneNumbers, never, PhoneNumbersRepo | Agents | Providers | SqlClient.SqlClient> =
    Layer.effect(
      PhoneNumbers,
      Effect.gen(function* () {
        const repo = yield* PhoneNumbersRepo
        const agents = yield* Agents
        const sql = yield* SqlClient.SqlClient
        const { telephony } = yield* Providers
        const networks = telephony.map((plugin) => plugin.id)

        /** Fails unless the carrier lists the number. Of one that cannot list its numbers nothing is demanded. */
        const checkOwned = Effect.fn("PhoneNumbers.checkOwned")(function* ({
          number,
          telephony: id
        }: PhoneNumberImport) {
          const owned = telephony.find((plugin) => plugin.id === id)?.numbers?.owned
          if (owned === undefined) return
          const ours = yield* Effect.catchTag(owned, "CarrierUnavailable", ({ reason }) =>
            Effect.zipRight(
              Effect.logWarning(`The import of ${number} is refused: ${id} could not list its numbers: ${reason}`),
              new Unavailable({ message: `${id} could not be asked whether it has this number; try again later` })
            )
          )
          if (!ours.some((one) => one.number === number)) {
            return yield* ValidationError.field(
              "number",
              `number must be in the account of ${id} that this server uses; buy or port it there first`
            )
          }
        })

        const insert = Effect.fnUntraced(
          function* (owner: ProjectPrincipal, body: PhoneNumberImport) {
            yield* repo.lock(body.number)
            if ((yield* repo.taken([body.number])).length > 0) return yield* new PhoneNumberInUse()
            const row = yield* repo.insert({
              org_id: owner.org.id,
              project_id: owner.project.id,
              ...body,
              ...numberFactsOf(body.number),
              address_id: null,
              monthly_cost_eur: 0,
              carrier_id: null
            })
            return Option.isSome(row) ? toPhoneNumber(row.value) : yield* new PhoneNumberInUse()
          },
          sql.withTransaction,
          Effect.catchTag("SqlError", Effect.die)
        )

        return {
          list: Effect.fn("PhoneNumbers.list")(function* (project, query) {
            let before: number | undefined
            if (query.after !== undefined) {
              before = parseNumberId(query.after)
              if (before === undefined || !(yield* repo.exists(project.id, before))) {
                return yield* ValidationError.field("after", "after must be the id of a phone number of this project")
              }
            }
            const rows = yield* repo.page({ project_id: project.id, before, limit: query.limit + 1 })
            const phone_numbers = rows.slice(0, query.limit).map(toPhoneNumber)
            const last = phone_numbers.at(-1)
            return {
              phone_numbers,
              next_cursor: rows.length > query.limit && last !== undefined ? String(last.id) : null
            }
          }),
          rents: Effect.fn("PhoneNumbers.rents")(function* (project) {
            const rows = yield* repo.page({ project_id: project.id, before: undefined, limit: Number.MAX_SAFE_INTEGER })
            return rows.map((row) => ({
              ...toPhoneNumber(row),
              next_rent_at: row.rent_paid_until?.toISOString() ?? null
            }))
          }),
          import: Effect.fn("PhoneNumbers.import")(function* (owner, body) {
            if (!networks.includes(body.telephony)) {
              return yield* ValidationError.field(
                "telephony",
                networks.length === 0
                  ? "telephony must be a loaded telephony plugin; none is loaded"
                  : `telephony must be one of: ${networks.join(", ")}`
              )
            }
            // Before the look-up: whether a number is in use is told only to those who could have it.
            yield* checkOwned(body)
            return yield* insert(owner, body)
          }),
          assign: Effect.fn("PhoneNumbers.assign")(
            function* (project, id, agentId) {
              const numberId = parseNumberId(id)
              if (numberId === undefined) return yield* new PhoneNumberNotFound()
              const unknown = ValidationError.field("agent_id", "agent_id must be the id of an agent of this project")
              const agent =
                agentId === null
                  ? null
                  : yield* Effect.catchTag(agents.get(project, String(agentId)), "AgentNotFound", () => unknown)
              // An agent that is being deleted must not get a number that its deletion does not see.
              if (agent !== null && !(yield* agents.pin(agent.id))) return yield* unknown
              const row = yield* repo.assign(project.id, numberId, {
                agent_id: agent?.id ?? null,
                agent_public_id: agent?.public_id ?? null
              })
              if (Option.isNone(row)) return yield* new PhoneNumberNotFound()
              return toPhoneNumber(row.value)
            },
            sql.withTransaction,
            Effect.catchTag("SqlError", Effect.die)
          ),
          ofAgent: repo.ofAgent,
          ofProject: repo.ofProject,
          route: (to, network) => repo.route(candidatesOf(to), network)
        }
      })
    )
}
