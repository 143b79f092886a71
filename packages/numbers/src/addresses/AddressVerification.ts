import type { Address, AddressCreate } from "@svc/api/addresses/Address"
import { type AddressStatus, NumberTypeVerdict } from "@svc/api/addresses/AddressFields"
import type { Regulatory } from "@svc/providers/Carrier"
import type { Providers } from "@svc/providers/Providers"
import { type Context, Either, ParseResult, Schema } from "effect"

/** The rules of the verification of addresses. See docs/reference/addresses.md. */

/** A telephony plugin that verifies addresses. */
export interface AddressCarrier {
  /** Its short name. */
  readonly id: string
  readonly regulatory: Regulatory
}

/** The loaded plugins that verify addresses, in the order of preference. */
export const addressCarriers = ({ telephony }: Context.Tag.Service<Providers>): ReadonlyArray<AddressCarrier> =>
  telephony.flatMap(({ id, regulatory }) => (regulatory === undefined ? [] : [{ id, regulatory }]))

/** What an answer of the carrier changes. `Impossible`: nothing, because it cannot be true; `reason` is for the log. */
export type Assessment =
  | { readonly _tag: "Unchanged" }
  /** The address stays in its state. */
  | { readonly _tag: "Progress"; readonly number_types: ReadonlyArray<NumberTypeVerdict> }
  | {
      readonly _tag: "Transition"
      readonly status: Exclude<AddressStatus, "pending">
      readonly number_types: ReadonlyArray<NumberTypeVerdict>
    }
  | { readonly _tag: "Impossible"; readonly reason: string }

type Final = Extract<Assessment, { readonly _tag: "Transition" }>

/** The event of a transition: its name and its data. */
export const verificationEvent = (address_id: number, status: Final["status"], number_types: Final["number_types"]) => {
  switch (status) {
    case "verified":
      return { event: "address.verification.verified", data: { address_id, status, number_types } } as const
    case "partially_verified":
      return { event: "address.verification.partially_verified", data: { address_id, status, number_types } } as const
    case "rejected":
      return { event: "address.verification.rejected", data: { address_id, status, number_types } } as const
    case "expired":
      return { event: "address.verification.expired", data: { address_id, status, number_types } } as const
  }
}

/** Characters of a reason that are kept. */
const maxReason = 500

const decode = Schema.decodeUnknownEither(Schema.Array(NumberTypeVerdict))

const problemOf = (error: ParseResult.ParseError): string => {
  const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
  return `${issue?.path.map(String).join(".") ?? ""} ${issue?.message ?? ""}`.trim().slice(0, maxReason)
}

/** A verdict as it is stored: a reason only where something was rejected. */
const stored = ({ rejection_reason, status, type }: NumberTypeVerdict): NumberTypeVerdict => ({
  type,
  status,
  rejection_reason: status === "rejected" ? (rejection_reason?.trim().slice(0, maxReason) ?? null) : null
})

const equal = (a: ReadonlyArray<NumberTypeVerdict>, b: ReadonlyArray<NumberTypeVerdict>): boolean =>
  a.length === b.length &&
  a.every(
    (one, i) => one.type === b[i]?.type && one.status === b[i].status && one.rejection_reason === b[i].rejection_reason
  )

/** The verdicts after an answer. A type that the answer does not name keeps its verdict. */
const merge = (
  before: ReadonlyArray<NumberTypeVerdict>,
  answer: ReadonlyArray<NumberTypeVerdict>
): ReadonlyArray<NumberTypeVerdict> => {
  const given = new Map(answer.map((verdict) => [verdict.type, stored(verdict)]))
  const known = new Set(before.map(({ type }) => type))
  return [
    ...before.map((verdict) => given.get(verdict.type) ?? verdict),
    ...answer.filter(({ type }) => !known.has(type)).map(stored)
  ]
}

const impossible = (reason: string): Assessment => ({ _tag: "Impossible", reason })

/** What the verdicts of the carrier (of any shape) change in an address. */
export const assess = (
  current: { readonly status: AddressStatus; readonly number_types: ReadonlyArray<NumberTypeVerdict> },
  answer: unknown
): Assessment => {
  const decoded = decode(answer)
  if (Either.isLeft(decoded)) return impossible(`it is no list of verdicts: ${problemOf(decoded.left)}`)
  const verdicts = decoded.right
  if (verdicts.length === 0) return impossible("it has no verdict")
  if (new Set(verdicts.map(({ type }) => type)).size < verdicts.length) {
    return impossible("it has two verdicts for one type of number")
  }
  const number_types = merge(current.number_types, verdicts)
  const has = (status: NumberTypeVerdict["status"]) => number_types.some((verdict) => verdict.status === status)
  const same: Assessment = equal(current.number_types, number_types)
    ? { _tag: "Unchanged" }
    : { _tag: "Progress", number_types }
  switch (current.status) {
    case "pending":
      if (has("expired")) return impossible("a verification expired that was never completed")
      if (has("pending")) return same
      if (!has("rejected")) return { _tag: "Transition", status: "verified", number_types }
      return { _tag: "Transition", status: has("verified") ? "partially_verified" : "rejected", number_types }
    case "verified":
      if (has("pending") || has("rejected")) return impossible("a verified address can only expire")
      return has("expired") ? { _tag: "Transition", status: "expired", number_types } : same
    case "partially_verified":
    case "rejected":
    case "expired":
      return { _tag: "Unchanged" }
  }
}

/** The types of number whose purchase an address may be for. */
const allTypes = NumberTypeVerdict.fields.type.literals

/** The verdicts when the carrier refuses the address itself. */
export const refused = (before: ReadonlyArray<NumberTypeVerdict>, reason: string): ReadonlyArray<NumberTypeVerdict> => {
  const types = before.length === 0 ? allTypes : before.map(({ type }) => type)
  return types.map((type) => stored({ type, status: "rejected", rejection_reason: reason }))
}

/** The fields that a country demands and this address lacks. */
export const missingFields = (
  address: AddressCreate,
  demanded: ReadonlyArray<keyof AddressCreate>
): ReadonlyArray<keyof AddressCreate> => demanded.filter((field) => (address[field] ?? "") === "")

const minute = 60_000
const hour = 60 * minute

/**
 * Milliseconds until the carrier is asked again, after so many questions. About a pending address soon and then ever
 * less often; about a verified one, which may expire, up to every 6 hours.
 */
export const delayAfter = (status: Address["status"], attempts: number): number => {
  const [first, longest] = status === "pending" ? [200, 5 * minute] : [1_000, 6 * hour]
  return Math.min(longest, first * 2 ** Math.max(0, Math.min(attempts - 1, 30)))
}
