import { expect } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { Answer } from "./Client.ts"

/** The workspace API as docs/reference/workspace.md describes it. */

const time = Schema.String.pipe(Schema.pattern(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/))
const text = Schema.NullOr(Schema.String)

export const Customer = Schema.Struct({
  id: Schema.String.pipe(Schema.pattern(/^bcus_[0-9a-z]{24}$/)),
  name: Schema.String,
  email: text,
  phone: text,
  address: text,
  postcode: text,
  city: text,
  country: Schema.String,
  language: Schema.String,
  birthdate: text,
  marketing_opt_in: Schema.Boolean,
  notes: text,
  total_bookings: Schema.Int,
  is_anonymized: Schema.Boolean,
  deleted_at: Schema.NullOr(time),
  created_at: time,
  updated_at: time
})
export type Customer = typeof Customer.Type

const Fault = Schema.Struct({
  type: Schema.String,
  code: Schema.String,
  message: Schema.NonEmptyString,
  param: Schema.optional(Schema.String),
  issues: Schema.optional(Schema.Array(Schema.Struct({ field: Schema.String, message: Schema.NonEmptyString })))
})

const Envelope = Schema.Struct({
  data: Schema.optional(Schema.Unknown),
  error: Schema.optional(Fault),
  meta: Schema.Struct({ request_id: Schema.String, next_cursor: Schema.optional(Schema.NullOr(Schema.String)) })
})
export type Envelope = typeof Envelope.Type

/** Status and possible types of each code. */
const codes: { readonly [code: string]: readonly [status: number, ...types: ReadonlyArray<string>] } = {
  INVALID_API_KEY: [401, "invalid_request_error", "permission_denied"],
  AUTH_RATE_LIMITED: [429, "rate_limit_error"],
  SCOPE_INSUFFICIENT: [403, "permission_denied"],
  VALIDATION_ERROR: [400, "invalid_request_error"],
  RESOURCE_NOT_FOUND: [404, "invalid_request_error"],
  METHOD_NOT_ALLOWED: [405, "invalid_request_error"],
  INVALID_STATE: [422, "invalid_request_error"],
  PAYG_LIMIT: [403, "permission_denied"],
  IDEMPOTENCY_KEY_TOO_LONG: [400, "invalid_request_error"],
  IDEMPOTENCY_KEY_CONFLICT: [409, "invalid_request_error"],
  IDEMPOTENCY_KEY_QUOTA_EXCEEDED: [429, "rate_limit_error"],
  RATE_LIMITED: [429, "rate_limit_error"],
  REQUEST_TOO_LARGE: [413, "invalid_request_error"],
  MIDDLEWARE_ORDER: [500, "server_error"],
  INTERNAL: [500, "server_error"]
}

const strictly = { onExcessProperty: "error" } as const
const decode = Schema.decodeUnknown(Schema.parseJson(Envelope), strictly)
const decodeCustomer = Schema.decodeUnknownSync(Customer, strictly)
const decodeCustomers = Schema.decodeUnknownSync(Schema.Array(Customer), strictly)

export interface EnvelopeAnswer extends Answer {
  readonly body: Envelope
  /** The code of the error, undefined for a success. */
  readonly code: string | undefined
  /** Fields that the error names. */
  readonly fields: ReadonlyArray<string>
  /** `data` as a customer. */
  readonly customer: Customer
  /** `data` as a list of customers. */
  readonly customers: ReadonlyArray<Customer>
}

/** Reads an answer and holds it against what is promised of every one. */
export const envelopeOf = (answer: Answer): Effect.Effect<EnvelopeAnswer> =>
  Effect.map(Effect.orDie(decode(answer.text)), (body) => {
    expect(answer.headers["content-type"]).toMatch(/^application\/json/)
    expect(answer.headers["x-request-id"]).toBe(body.meta.request_id)
    const { data, error } = body
    if (error === undefined) {
      expect(answer.status).toBeLessThan(300)
      expect(data).toBeDefined()
    } else {
      expect(data).toBeUndefined()
      const [status, ...types] = codes[error.code] ?? []
      expect([error.code, answer.status]).toEqual([error.code, status])
      expect(types).toContain(error.type)
      if (status === 429) expect(Number(answer.headers["retry-after"])).toBeGreaterThanOrEqual(1)
    }
    return {
      ...answer,
      body,
      code: error?.code,
      fields: (error?.issues ?? []).map(({ field }) => field),
      get customer() {
        return decodeCustomer(data)
      },
      get customers() {
        return decodeCustomers(data)
      }
    }
  })
