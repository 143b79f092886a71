import { E164 } from "@svc/api/Wire"
import { decodeValue, isRecord, type Warning } from "./FieldReader.ts"

/**
 * The `transfer_destinations` of an answer to `call.started`: label → E.164. Invalid destinations are left out with a
 * warning.
 */
export const destinationsOf = (value: unknown, warnings: Array<Warning>): { readonly [label: string]: string } => {
  if (value === undefined || value === null) return {}
  if (!isRecord(value)) {
    warnings.push({ field: "transfer_destinations", reason: "transfer_destinations must be an object" })
    return {}
  }
  const destinations: Array<readonly [string, string]> = []
  for (const [label, given] of Object.entries(value)) {
    const field = `transfer_destinations.${label}`
    if (label.trim() === "") {
      warnings.push({ field, reason: "a destination needs a label" })
      continue
    }
    const number = decodeValue(warnings, field, given, E164)
    if (number !== null) destinations.push([label, number])
  }
  return Object.fromEntries(destinations)
}
