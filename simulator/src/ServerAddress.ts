import { Context, type Redacted } from "effect"

/** The address of the server and the key for its API. */
export class ServerAddress extends Context.Tag("@svc/simulator/ServerAddress")<
  ServerAddress,
  {
    /** Base URL without a path, e.g. `http://127.0.0.1:8787`. */
    readonly url: string
    /** A project key. Without it the network can be used, but not the API. */
    readonly key: Redacted.Redacted | null
  }
>() {}

/** The address of the simulated phone network on a server. */
export const networkUrl = (serverUrl: string): string => {
  const url = new URL("/telephony/simulated", serverUrl)
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:"
  return url.toString()
}
