import { variant } from "../EntityFields.ts"
import { CustomerFields } from "./CustomerFields.ts"

/** A booking customer: a direct booking party of an organization. */
export const BookingCustomer = variant(CustomerFields, "wire").annotations({ identifier: "BookingCustomer" })
export type BookingCustomer = typeof BookingCustomer.Type
