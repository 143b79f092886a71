import { isE164 } from "@svc/providers/Carrier"
import { type Check, isRecord, type Problem } from "./Shapes.ts"

/** The shapes of a carrier's answers. Plain functions, because a list of 100,000 numbers is checked while calls run. */

/** The largest number of results of a search. */
export const maxOffered = 500
/** The largest number of numbers that a carrier may list as rented. */
export const maxOwned = 100_000
/** The largest length of a carrier's id, in characters. */
const maxIdLength = 500

const numberTypes: ReadonlySet<unknown> = new Set(["local", "mobile", "toll_free"])
const statuses: ReadonlySet<unknown> = new Set(["pending", "verified", "rejected", "expired"])
const addressFields: ReadonlySet<unknown> = new Set([
  "customer_name",
  "street",
  "city",
  "postcode",
  "region",
  "country"
])

const isId = (value: unknown): boolean => typeof value === "string" && value !== "" && value.length <= maxIdLength

const number = (value: unknown): Problem =>
  typeof value === "string" && isE164(value) ? undefined : "`number` must be a number in E.164"

const numberType = (value: unknown): Problem =>
  numberTypes.has(value) ? undefined : "`type` must be local, mobile or toll_free"

/** A list of at most `max` entries; the problem names the place of the first wrong one. */
const list =
  (what: string, max: number, entry: Check): Check =>
  (value) => {
    if (!Array.isArray(value)) return `${what} must be a list`
    if (value.length > max) return `${what} has ${value.length} entries; at most ${max} are allowed`
    for (let index = 0; index < value.length; index++) {
      const problem = entry(value[index])
      if (problem !== undefined) return `${what}, entry ${index}: ${problem}`
    }
    return undefined
  }

const offeredNumber: Check = (value) => {
  if (!isRecord(value)) return "it must be an object"
  const { area, country, type } = value
  if (typeof country !== "string" || !/^[A-Z]{2}$/.test(country)) return "`country` must be ISO 3166-1 alpha-2"
  if (area !== null && typeof area !== "string") return "`area` must be a string or null"
  return number(value["number"]) ?? numberType(type)
}

const anOwnedNumber: Check = (value) => {
  if (!isRecord(value)) return "it must be an object"
  return number(value["number"]) ?? (isId(value["carrier_id"]) ? undefined : "`carrier_id` must be a non-empty string")
}

const verdict: Check = (value) => {
  if (!isRecord(value)) return "it must be an object"
  const { rejection_reason: reason, status, type } = value
  if (!statuses.has(status)) return "`status` must be pending, verified, rejected or expired"
  if (status === "rejected" && (typeof reason !== "string" || reason === "")) {
    return "`rejection_reason` must say why it was rejected"
  }
  if (status !== "rejected" && reason !== null) return "`rejection_reason` must be null unless rejected"
  return numberType(type)
}

/** The result of `search`. */
export const offeredNumbers: Check = list("the numbers for sale", maxOffered, offeredNumber)

/** The result of `owned`. */
export const ownedNumbers: Check = list("the rented numbers", maxOwned, anOwnedNumber)

/** The result of `purchase` of a number. */
export const purchased =
  (ordered: string): Check =>
  (value) => {
    const problem = anOwnedNumber(value)
    if (problem !== undefined) return `the purchased number: ${problem}`
    return isRecord(value) && value["number"] === ordered ? undefined : "the purchased number is not the ordered one"
  }

/** The result of `requirements`. */
export const requirements: Check = (value) => {
  if (!isRecord(value)) return "the requirements must be an object"
  const fields = list("`fields`", addressFields.size, (field) =>
    addressFields.has(field) ? undefined : "it must be a field of an address"
  )
  return fields(value["fields"]) ?? list("`number_types`", numberTypes.size, numberType)(value["number_types"])
}

/** The result of `submit`. */
export const submission: Check = (value) =>
  isRecord(value) && isId(value["submission_id"]) ? undefined : "`submission_id` must be a non-empty string"

/** The result of `status`: at most one verdict for each type of number. */
export const verdicts: Check = (value) => {
  const problem = list("the verdicts", numberTypes.size, verdict)(value)
  if (problem !== undefined || !Array.isArray(value)) return problem
  if (value.length === 0) return "the verdicts must not be empty"
  return new Set(value.map(({ type }) => type)).size === value.length
    ? undefined
    : "the verdicts must have each type of number once"
}
