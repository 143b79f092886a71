import type { Host } from "@svc/providers/Host"
import * as Plugin from "@svc/providers/Plugin"
import { Schema } from "effect"

/** The hosts that the plugin was given, oldest first. */
export const hosts: Array<Host> = []

/** A plugin that only keeps its host. */
export default Plugin.make({
  name: "keeps-host",
  apiVersion: "*",
  config: Schema.Struct({}),
  provides: (_, host) => {
    hosts.push(host)
    return {}
  }
})
