import { Schema } from "effect"
import { BookingCustomerId } from "../Ids.ts"
import { BookingCustomer } from "./BookingCustomer.ts"

/** The customer as it is after the change (decisions §5.9). */
const change = Schema.Struct({ customer_id: BookingCustomerId, customer: BookingCustomer })

/** `data` of the events of booking customers (spec 6.7). Their envelopes have neither project nor agent. */
export const bookingEventData = {
  "booking_customer.created": change,
  "booking_customer.updated": change,
  "booking_customer.deleted": change,
  "booking_customer.restored": change
} as const
