import type { Host } from "@svc/providers/Host"
import { monotonicMillis } from "@svc/providers/MonotonicTime"
import type { Route, RouteRequest, RouteResponse } from "@svc/providers/Route"
import { Effect, Redacted } from "effect"
import { type FormFields, formFields, isSigned, isSignedWithBody, jsonFields } from "./Signature.ts"

/** Bytes of a request of Twilio at most. */
const maxBody = 65_536
/** How often a request with a wrong signature is logged, in milliseconds. */
const logEveryMs = 60_000

/** A request that Twilio has signed. */
export interface Webhook {
  /** A field of the form or of the JSON; empty when it is missing. */
  readonly field: (name: string) => string
  readonly fields: FormFields
  readonly query: URLSearchParams
}

export interface Webhooks {
  /** The public address of a route; its query must need no encoding. */
  readonly url: (path: string) => string
  /** A route that answers signed requests with a TwiML; undefined: with 204. `forbidden`: with 403. */
  readonly route: (
    path: string,
    handle: (request: Webhook) => Effect.Effect<string | undefined | { readonly forbidden: string }>
  ) => Route
}

/** The query as it was sent, or, where the server does not tell it, as it is usually written. */
const searchOf = ({ query, search }: RouteRequest): string => {
  if (search !== undefined) return search
  const text = query.toString()
  return text === "" ? "" : `?${text}`
}

const plain = (status: number, body: string): RouteResponse => ({
  status,
  headers: { "content-type": "text/plain; charset=utf-8" },
  body
})

/** The webhooks below `SVC_BASE_URL`. Twilio signs the address as it is set there, so that it must be the same. */
export const make = ({ authToken, host }: { readonly authToken: Redacted.Redacted; readonly host: Host }): Webhooks => {
  const url = (path: string): string => `${host.baseUrl ?? ""}/telephony/twilio${path}`
  let loggedAt = Number.NEGATIVE_INFINITY

  const refused = (requested: string): Effect.Effect<RouteResponse> =>
    Effect.map(Effect.clock, (clock) => {
      const now = monotonicMillis(clock)
      if (now - loggedAt >= logEveryMs) {
        loggedAt = now
        host.log.warning(
          `a request to ${requested} has no valid X-Twilio-Signature and was refused. If Twilio made it, set SVC_BASE_URL to the address that is set at the number, and SVC_TWILIO_AUTH_TOKEN to the primary auth token of the account`
        )
      }
      return plain(403, "The signature of the request (X-Twilio-Signature) is missing or wrong.")
    })

  return {
    url,
    route: (path, handle) => ({
      _tag: "Http",
      method: "POST",
      path,
      handle: (request: RouteRequest) =>
        Effect.suspend(() => {
          if (host.baseUrl === null) return Effect.succeed(plain(503, "SVC_BASE_URL is not set."))
          if (request.body.length > maxBody) return Effect.succeed(plain(413, "The request is too large."))
          const text = new TextDecoder().decode(request.body)
          const isJson = /^application\/json\b/i.test(request.headers["content-type"] ?? "")
          const fields = isJson ? jsonFields(text) : formFields(text)
          const requested = url(request.path)
          const signed = {
            authToken: Redacted.value(authToken),
            signature: request.headers["x-twilio-signature"],
            url: requested + searchOf(request)
          }
          const isTwilio = isJson
            ? isSignedWithBody({ ...signed, body: request.body })
            : isSigned({ ...signed, fields: fields ?? new Map() })
          if (!isTwilio) return refused(requested)
          if (fields === undefined) return Effect.succeed(plain(400, "The body must be an object of JSON."))
          const webhook = { fields, query: request.query, field: (name: string) => fields.get(name)?.[0] ?? "" }
          return Effect.map(handle(webhook), (answer): RouteResponse => {
            if (answer === undefined) return { status: 204 }
            if (typeof answer !== "string") return plain(403, answer.forbidden)
            return { status: 200, headers: { "content-type": "text/xml; charset=utf-8" }, body: answer }
          })
        })
    })
  }
}
