import * as Plugin from "@svc/providers/Plugin"
import { Settings } from "./Settings.ts"
import * as TelnyxTelephony from "./TelnyxTelephony.ts"

/**
 * Telephony by Telnyx.
 *
 * Settings: `SVC_TELNYX_API_KEY`, `SVC_TELNYX_PUBLIC_KEY`, `SVC_TELNYX_API_URL`, `SVC_TELNYX_CONNECTION_ID`,
 * `SVC_TELNYX_MESSAGING_PROFILE_ID`, `SVC_TELNYX_MACHINE_DETECTION`. See README.md.
 */
export default Plugin.make({
  name: "telnyx",
  apiVersion: "^2.0.0",
  config: Settings,
  provides: (settings, host) => ({ telephony: TelnyxTelephony.layer(settings, host) })
})
