import * as Plugin from "@svc/providers/Plugin"
import { serverOrigin } from "@svc/providers/ServerOrigin"
import { Schema } from "effect"
import * as TwilioTelephony from "./TwilioTelephony.ts"

const Settings = Schema.Struct({
  accountSid: Schema.String.pipe(
    Schema.pattern(/^AC[\w-]+$/, {
      message: () => "must be the account's SID, which begins with AC, as Twilio's console shows it"
    })
  ),
  authToken: Schema.Redacted(Schema.NonEmptyString),
  machineDetection: Schema.optionalWith(Schema.BooleanFromString, { exact: true }),
  apiUrl: Schema.optionalWith(serverOrigin("https://api.twilio.com"), { exact: true })
})

/**
 * Phone calls, text messages and numbers of Twilio.
 *
 * Settings: `SVC_TWILIO_ACCOUNT_SID`, `SVC_TWILIO_AUTH_TOKEN`, `SVC_TWILIO_MACHINE_DETECTION`, `SVC_TWILIO_API_URL`.
 */
export default Plugin.make({
  name: "twilio",
  apiVersion: "^2.0.0",
  config: Settings,
  provides: ({ accountSid, apiUrl, authToken, machineDetection = true }, host) => ({
    telephony: TwilioTelephony.layer({
      accountSid,
      authToken,
      origin: apiUrl,
      detectsMachines: machineDetection,
      host
    })
  })
})
