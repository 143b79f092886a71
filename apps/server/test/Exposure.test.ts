import { describe, expect, it } from "@effect/vitest"
import { exposedSimulator, unnamedProxy } from "../src/Exposure.ts"

const settings = { host: "127.0.0.1", port: 8787, baseUrl: undefined, strictResponses: false }
const simulated = { name: "simulated", source: "@svc/plugin-simulated", capabilities: [] }
const other = { ...simulated, name: "house" }

describe("The warnings of the start and of svc doctor", () => {
  it.each(["127.0.0.1", "127.1.2.3", "localhost", "::1"])("say nothing of the simulated network on %s", (host) => {
    expect(exposedSimulator([simulated], { ...settings, host })).toBeUndefined()
  })

  it.each(["0.0.0.0", "::", "192.168.1.5", "voice.example.com"])(
    "say that the simulated network is reachable on %s, and what to do",
    (host) => {
      expect(exposedSimulator([other, simulated], { ...settings, host })).toMatch(
        /without a key; remove @svc\/plugin-simulated from SVC_PLUGINS, or set SVC_HOST=127\.0\.0\.1/
      )
      expect(exposedSimulator([other], { ...settings, host })).toBeUndefined()
    }
  )

  it("say that the proxy of an https SVC_BASE_URL is not named", () => {
    const behindProxy = { ...settings, baseUrl: "https://voice.example.com" }
    expect(unnamedProxy(behindProxy, "")).toMatch(/set SVC_TRUSTED_PROXIES/)
    expect(unnamedProxy(behindProxy, "10.0.0.0/8")).toBeUndefined()
    expect(unnamedProxy(settings, "")).toBeUndefined()
  })
})
