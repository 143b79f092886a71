import { isIPv4 } from "node:net"
import type { LoadedPlugin } from "@svc/providers/Providers"
import type { HttpSettings } from "./http/listening/HttpSettings.ts"

/** Whether only programs of this machine can connect to a listen address. */
const isLoopback = (host: string): boolean =>
  /^(?:.+\.)?localhost$/i.test(host) || host === "::1" || (isIPv4(host) && host.startsWith("127."))

/** Why the simulated phone network must not be reached from other machines, when it can be. */
export const exposedSimulator = (plugins: ReadonlyArray<LoadedPlugin>, { host }: HttpSettings): string | undefined =>
  plugins.some(({ name }) => name === "simulated") && !isLoopback(host)
    ? `the simulated phone network is loaded and the server listens on ${host}: everybody who reaches that address can place calls and read text messages without a key; remove @svc/plugin-simulated from SVC_PLUGINS, or set SVC_HOST=127.0.0.1`
    : undefined

/** What happens behind a proxy of whose addresses none is named: the server speaks no TLS, so a proxy must. */
export const unnamedProxy = ({ baseUrl }: HttpSettings, trustedProxies: string): string | undefined =>
  baseUrl?.startsWith("https:") === true && trustedProxies.trim() === ""
    ? "SVC_BASE_URL is https, so requests come through a proxy, and SVC_TRUSTED_PROXIES is not set: all clients share the proxy's address for the limits of requests and of wrong keys, and logs show that address; set SVC_TRUSTED_PROXIES to the proxy's address"
    : undefined
