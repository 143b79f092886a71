import { randomBytes } from "node:crypto"
import { tmpdir } from "node:os"
import * as path from "node:path"
import type { Host } from "@svc/providers/Host"
import { Context, Effect } from "effect"

/**
 * What the process that loads plugins has for their `Host`. Without it, as in tests and commands, there is no public
 * address, tokens are valid in this process only, no call link is open, and there is no signal processing.
 */
export class HostResources extends Context.Reference<HostResources>()("@svc/plugin-host/HostResources", {
  defaultValue: (): Pick<Host, "baseUrl" | "callsLeft" | "linkState" | "makeResampler" | "makeVoiceActivity"> & {
    readonly secret: string
    /** The folder in which plugins have their folders. */
    readonly pluginsDir: string
  } => ({
    baseUrl: null,
    linkState: () => Effect.succeed("closed"),
    callsLeft: () => Effect.succeed(0),
    pluginsDir: path.join(tmpdir(), "svc-plugins"),
    secret: randomBytes(32).toString("hex"),
    makeVoiceActivity: () => {
      throw new Error("this process has no voice activity detector")
    },
    makeResampler: () => {
      throw new Error("this process has no resampler")
    }
  })
}) {}
