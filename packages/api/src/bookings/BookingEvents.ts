import { Schema } from "effect"
import { BookingCustomerId } from "../Ids.ts"
import { BookingCustomer } from "./BookingCustomer.ts"

/** The customer as it is after the change. */
const change = Schema.Struct({ customer_id: BookingCustomerId, customer: BookingCustomer })

/** `data` of booking customer events. Their envelopes have neither project nor agent. */
export const bookingEventData = {
  "booking_customer.created": change,
  "booking_customer.updated": change,
  "booking_customer.deleted": change,
  "booking_customer.restored": change
} as const
