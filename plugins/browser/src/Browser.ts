import * as Plugin from "@svc/providers/Plugin"
import { Schema } from "effect"
import * as BrowserTelephony from "./BrowserTelephony.ts"
import { isOrigin } from "./Origin.ts"

const listed = (list: string): ReadonlyArray<string> => list.split(",").map((origin) => origin.trim())

const Settings = Schema.Struct({
  origins: Schema.optional(
    Schema.String.pipe(
      Schema.filter((list) => listed(list).every(isOrigin), {
        message: () => "must be a comma-separated list of origins, such as https://www.example.com"
      })
    )
  )
})

/**
 * Telephony in the browser: the page of a call link, with microphone and loudspeaker over a WebSocket. See
 * docs/browser.md.
 *
 * Settings: `SVC_BROWSER_ORIGINS`, the origins whose pages may embed the call, comma-separated; none by default.
 */
export default Plugin.make({
  name: "browser",
  apiVersion: "^2.0.0",
  config: Settings,
  provides: ({ origins }, host) => ({
    telephony: BrowserTelephony.layer({ host, origins: origins === undefined ? [] : listed(origins) })
  })
})
