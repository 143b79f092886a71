import { type Redacted, Schema } from "effect"
import type { HostLog } from "./Host.ts"
import { makeFailures, type RequestFailures } from "./RequestFailed.ts"
import { serverOrigin } from "./ServerOrigin.ts"

/**
 * The settings of a plugin whose vendor has one server and one key: `SVC_<NAME>_API_KEY`, `SVC_<NAME>_URL`,
 * `SVC_<NAME>_MODEL`. `exampleUrl` is the example in the message about a wrong address.
 */
export const vendorSettings = (exampleUrl: string) => ({
  apiKey: Schema.Redacted(Schema.NonEmptyString),
  url: Schema.optionalWith(serverOrigin(exampleUrl), { exact: true }),
  model: Schema.optionalWith(Schema.NonEmptyString, { exact: true })
})

/** A vendor's server, as settings describe it. */
export interface VendorServer {
  /** Without a path. */
  readonly origin: string
  readonly apiKey: Redacted.Redacted
  /** The errors of requests to it, without the key. */
  readonly failures: RequestFailures
}

/** `keySetting`: the setting of the key, such as `SVC_EXAMPLE_API_KEY`. Makes no request. */
export const vendorServer = (options: {
  readonly url: string
  readonly apiKey: Redacted.Redacted
  readonly keySetting: string
  readonly log: HostLog
}): VendorServer => {
  const { apiKey, keySetting, log, url } = options
  const { origin } = new URL(url)
  return { origin, apiKey, failures: makeFailures({ server: origin, key: apiKey, keySetting, log }) }
}
