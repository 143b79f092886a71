import * as CarrierApi from "@svc/providers/CarrierApi"
import type { Health } from "@svc/providers/Health"
import type { Host } from "@svc/providers/Host"
import { makeFailures, type RequestFailures } from "@svc/providers/RequestFailed"
import * as ServerHealth from "@svc/providers/ServerHealth"
import { Effect, Option, Redacted, Schema, type Scope } from "effect"
import { apiBase, type Settings } from "./Settings.ts"

/** A request to Telnyx below `/v2`. */
export interface TelnyxRequest {
  readonly method: CarrierApi.CarrierRequest["method"]
  /** Below `/v2`, with a slash. */
  readonly path: string
  /** Names as they are documented, such as `filter[phone_number]`. */
  readonly query?: Readonly<Record<string, string>>
  readonly json?: unknown
  /** Sent as `Idempotency-Key`, where Telnyx knows it. */
  readonly key?: string
  /** Whether the request can be made twice without harm. Absent: GET and DELETE can. */
  readonly isRepeatable?: boolean
}

/** The REST interface of Telnyx (developers.telnyx.com/api-reference). */
export interface TelnyxApi {
  /** The JSON of the answer; null where it has none. */
  readonly request: (request: TelnyxRequest) => Effect.Effect<unknown, CarrierApi.CarrierRequestFailed>
  readonly failures: RequestFailures
  readonly health: Effect.Effect<Health>
}

/** The first of the errors in an answer: `{ errors: [{ code, title, detail }] }`. */
const firstError = (body: unknown): { readonly [field: string]: unknown } => {
  const errors: unknown = Object(body).errors
  return Object(Array.isArray(errors) ? errors[0] : undefined)
}

const messageOf = (body: unknown): string | undefined => {
  const { code, detail, title } = firstError(body)
  const text = typeof detail === "string" && detail !== "" ? detail : title
  if (typeof text !== "string") return undefined
  return code === undefined ? text : `${text} (${code})`
}

const codeOf = (body: unknown): string | undefined => {
  const { code } = firstError(body)
  return typeof code === "string" || typeof code === "number" ? String(code) : undefined
}

/** Idempotency keys have these characters, and 255 of them at most (Telnyx, "Idempotency"). */
const keyOf = (key: string): string => key.replace(/[^A-Za-z0-9_:-]/g, "-").slice(0, 255)

/** Makes no request but that which checks the key. */
export const make = (settings: Settings, host: Host): Effect.Effect<TelnyxApi, never, Scope.Scope> =>
  Effect.gen(function* () {
    const base = apiBase(settings)
    const { origin } = new URL(base)
    const failures = makeFailures({
      server: origin,
      key: settings.apiKey,
      keySetting: "SVC_TELNYX_API_KEY",
      log: host.log,
      messageOf
    })
    const carrier = CarrierApi.make({
      headers: { authorization: `Bearer ${Redacted.value(settings.apiKey)}` },
      failures,
      codeOf,
      attempt: "6 seconds"
    })
    const request: TelnyxApi["request"] = ({ isRepeatable, json, key, method, path, query }) =>
      Effect.map(
        carrier.request({
          method,
          url: `${base}${path}${query === undefined ? "" : `?${new URLSearchParams(query)}`}`,
          ...(json === undefined ? {} : { json }),
          ...(key === undefined ? {} : { headers: { "idempotency-key": keyOf(key) } }),
          ...(isRepeatable === undefined ? {} : { isRepeatable })
        }),
        ({ body }) => body
      )
    const { health } = yield* ServerHealth.make({
      request: request({ method: "GET", path: "/phone_numbers", query: { "page[size]": "1" } }).pipe(
        Effect.mapError(CarrierApi.requestFailed)
      ),
      failures,
      host,
      noAnswer: `${origin} does not answer`
    })
    return { request, failures, health }
  })

/** The `data` of an answer. */
export const dataOf = (body: unknown): unknown => Object(body).data

/** The `data` of an answer with a list. */
export const listOf = (body: unknown): ReadonlyArray<unknown> | undefined => {
  const data = dataOf(body)
  return Array.isArray(data) ? data : undefined
}

/** Decodes the rows of a list one by one. A row that cannot be read is left out. */
export const rowsOf = <A, I>(row: Schema.Schema<A, I>): ((list: ReadonlyArray<unknown>) => ReadonlyArray<A>) => {
  const decode = Schema.decodeUnknownOption(row)
  return (list) => list.flatMap((one) => Option.toArray(decode(one)))
}
