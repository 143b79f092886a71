import { Schema } from "effect"
import { publicKeyOf } from "./Signature.ts"

/** An address of HTTP, as `https://api.telnyx.com`, with or without the `/v2` of the interface. */
const isApiUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { pathname, protocol, search } = new URL(text)
  return /^https?:$/.test(protocol) && search === "" && /^\/(v2\/?)?$/.test(pathname)
}

/** The settings of the plugin: `SVC_TELNYX_…`. See README.md. */
export const Settings = Schema.Struct({
  apiKey: Schema.Redacted(Schema.NonEmptyString),
  publicKey: Schema.String.pipe(
    Schema.filter((text) => publicKeyOf(text) !== undefined, {
      message: () =>
        "must be the public key of the account in base64, as Mission Control shows it under Keys & Credentials"
    })
  ),
  apiUrl: Schema.optionalWith(
    Schema.String.pipe(
      Schema.filter(isApiUrl, {
        message: () => "must be an http or https address without a path, as https://api.telnyx.com"
      })
    ),
    { exact: true }
  ),
  connectionId: Schema.optionalWith(Schema.NonEmptyString, { exact: true }),
  messagingProfileId: Schema.optionalWith(Schema.NonEmptyString, { exact: true }),
  machineDetection: Schema.optionalWith(Schema.Literal("detect", "premium", "disabled"), { exact: true })
})

export type Settings = typeof Settings.Type

/** The address below which the paths of the interface stand, without a slash at its end. */
export const apiBase = ({ apiUrl = "https://api.telnyx.com" }: Pick<Settings, "apiUrl">): string =>
  `${new URL(apiUrl).origin}/v2`
