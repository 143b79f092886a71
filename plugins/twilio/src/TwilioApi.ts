import { Buffer } from "node:buffer"
import * as CarrierApi from "@svc/providers/CarrierApi"
import type { Health } from "@svc/providers/Health"
import type { Host } from "@svc/providers/Host"
import { makeFailures, type RequestFailures } from "@svc/providers/RequestFailed"
import * as ServerHealth from "@svc/providers/ServerHealth"
import { Effect, Redacted, type Scope } from "effect"

/** The servers of Twilio: `https://api.twilio.com` for calls, messages and numbers, another for regulatory compliance. */
const vendorOrigins = { api: "https://api.twilio.com", numbers: "https://numbers.twilio.com" }

const regulatoryRoot = "/v2/RegulatoryCompliance"

/** Fields of a form. What is undefined is left out. */
export interface Form {
  readonly [name: string]: string | ReadonlyArray<string> | undefined
}

/** Twilio's REST interface, in the account of the settings. */
export interface TwilioApi {
  readonly accountSid: string
  /**
   * A request to a resource of the account: `Calls.json` is
   * `/2010-04-01/Accounts/<sid>/Calls.json`. One that begins with a slash is a path, such as a page that follows.
   */
  readonly request: (
    method: "GET" | "POST" | "DELETE",
    resource: string,
    form?: Form,
    options?: Pick<CarrierApi.CarrierRequest, "isRepeatable">
  ) => Effect.Effect<unknown, CarrierApi.CarrierRequestFailed>
  /** The same for regulatory compliance: `Bundles` is `/v2/RegulatoryCompliance/Bundles`. */
  readonly regulatory: TwilioApi["request"]
  /** The page that follows one of regulatory compliance, as a path; undefined: none, or one of another server. */
  readonly nextRegulatory: (body: unknown) => string | undefined
  /** By the account itself: whether the keys are accepted and the account is active. */
  readonly health: Effect.Effect<Health>
}

const pairsOf = (form: Form): ReadonlyArray<readonly [string, string]> =>
  Object.entries(form).flatMap(([name, value]) =>
    value === undefined
      ? []
      : typeof value === "string"
        ? [[name, value] as const]
        : value.map((one) => [name, one] as const)
  )

/** `origin`: another server than Twilio's, for all requests. */
export const make = (options: {
  readonly accountSid: string
  readonly authToken: Redacted.Redacted
  readonly origin: string | undefined
  readonly host: Host
}): Effect.Effect<TwilioApi, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { accountSid, authToken, host, origin } = options
    const origins = origin === undefined ? vendorOrigins : { api: origin, numbers: origin }
    const credentials = Buffer.from(`${accountSid}:${Redacted.value(authToken)}`).toString("base64")
    const made = makeFailures({
      server: origins.api,
      key: authToken,
      keySetting: "SVC_TWILIO_AUTH_TOKEN",
      log: host.log
    })
    // A server may repeat the header, in which the token is in base64.
    const failures: RequestFailures = {
      ...made,
      ofStatus: (answer) => made.ofStatus({ ...answer, body: answer.body.replaceAll(credentials, "…") })
    }
    const api = CarrierApi.make({
      headers: { authorization: `Basic ${credentials}` },
      failures,
      codeOf: (body) => {
        const code: unknown = Object(body).code
        return typeof code === "number" ? String(code) : undefined
      }
    })
    const below =
      (server: string, root: string): TwilioApi["request"] =>
      (method, resource, form, options) => {
        const url = new URL(resource.startsWith("/") ? resource : `${root}/${resource}`, server)
        if (method === "GET") for (const [name, value] of pairsOf(form ?? {})) url.searchParams.append(name, value)
        return Effect.map(
          api.request({ method, url: url.href, ...(method === "POST" && { form: pairsOf(form ?? {}) }), ...options }),
          ({ body }) => body
        )
      }
    const nextRegulatory: TwilioApi["nextRegulatory"] = (body) => {
      const url: unknown = Object(Object(body).meta).next_page_url
      if (typeof url !== "string" || !URL.canParse(url)) return undefined
      const { origin, pathname, search } = new URL(url)
      const isOurs = origin === new URL(origins.numbers).origin && pathname.startsWith(`${regulatoryRoot}/`)
      return isOurs ? pathname + search : undefined
    }
    const account = `/2010-04-01/Accounts/${accountSid}`
    const request = below(origins.api, account)
    const { health } = yield* ServerHealth.make({
      request: Effect.mapError(request("GET", `${account}.json`), CarrierApi.requestFailed),
      failures,
      host,
      noAnswer: `${origins.api} does not answer`
    })
    return { accountSid, request, regulatory: below(origins.numbers, regulatoryRoot), nextRegulatory, health }
  })
