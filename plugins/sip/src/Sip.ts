import * as Plugin from "@svc/providers/Plugin"
import { Settings } from "./Settings.ts"
import * as SipTelephony from "./SipTelephony.ts"

/** Phone calls over SIP, without a vendor. See README.md for the settings, `SVC_SIP_…`. */
export default Plugin.make({
  name: "sip",
  apiVersion: "^2.0.0",
  config: Settings,
  provides: (settings, host) => ({ telephony: SipTelephony.layer(settings, host) })
})
