import { randomBytes } from "node:crypto"
import type { Host } from "@svc/providers/Host"
import { Context } from "effect"

/**
 * What the process that loads plugins has for their `Host`. Without it, as in tests and commands, there is no public
 * address, tokens are valid in this process only, and there is no signal processing.
 */
export class HostResources extends Context.Reference<HostResources>()("@svc/plugin-host/HostResources", {
  defaultValue: (): Pick<Host, "baseUrl" | "makeResampler" | "makeVoiceActivity"> & { readonly secret: string } => ({
    baseUrl: null,
    secret: randomBytes(32).toString("hex"),
    makeVoiceActivity: () => {
      throw new Error("this process has no voice activity detector")
    },
    makeResampler: () => {
      throw new Error("this process has no resampler")
    }
  })
}) {}
