import { maxDestinations, maxLabel } from "@svc/api/callbacks/CallStarted"
import { E164 } from "@svc/api/Wire"
import { decodeValue, isRecord, type Warnings } from "./FieldReader.ts"

const Destination = E164.annotations({
  message: () => ({ message: "must be a valid E.164 phone number", override: true })
})

/**
 * The `transfer_destinations` of an answer to `call.started`: label → E.164. Invalid destinations are left out with a
 * warning.
 */
export const destinationsOf = (value: unknown, warnings: Warnings): { readonly [label: string]: string } => {
  if (value === undefined || value === null) return {}
  if (!isRecord(value)) {
    warnings.add("transfer_destinations", "transfer_destinations must be an object")
    return {}
  }
  if (Object.keys(value).length > maxDestinations) {
    warnings.add("transfer_destinations", `transfer_destinations cannot exceed ${maxDestinations} entries`)
    return {}
  }
  const destinations: Array<readonly [string, string]> = []
  for (const [label, given] of Object.entries(value)) {
    const field = `transfer_destinations.${label}`
    if (label.trim() === "") {
      warnings.add(field, "a destination needs a label")
      continue
    }
    if (label.length > maxLabel) {
      warnings.add(field, `a label must not exceed ${maxLabel} characters`)
      continue
    }
    const number = decodeValue(warnings, field, given, Destination)
    if (number !== null) destinations.push([label, number])
  }
  return Object.fromEntries(destinations)
}
