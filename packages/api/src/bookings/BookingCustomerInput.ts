import { variant } from "../EntityFields.ts"
import { CustomerFields } from "./CustomerFields.ts"

/**
 * Bodies of the booking customer endpoints. Where a field may be empty, `null` and a text without characters both empty
 * it. Rules between fields (a postcode that fits the country, a way to reach the customer) are the service's.
 */

/** Body of a POST. Absent fields get the initial values of `CustomerFields`. */
export const BookingCustomerCreate = variant(CustomerFields, "create").annotations({
  identifier: "BookingCustomerCreate"
})
export type BookingCustomerCreate = typeof BookingCustomerCreate.Type

/** Body of a PATCH: absent fields stay. */
export const BookingCustomerUpdate = variant(CustomerFields, "update").annotations({
  identifier: "BookingCustomerUpdate"
})
export type BookingCustomerUpdate = typeof BookingCustomerUpdate.Type
