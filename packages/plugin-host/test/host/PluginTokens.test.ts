import { expect, it } from "@effect/vitest"
import { Duration, Effect, TestClock } from "effect"
import { describe } from "vitest"
import { HostResources } from "../../src/host/HostResources.ts"
import { makeHost } from "../../src/host/PluginHost.ts"
import { pluginTokens } from "../../src/host/PluginTokens.ts"

/** The tokens of a plugin on one of the nodes that share a secret. */
const tokensOf = (plugin: string, secret = "shared") => pluginTokens(plugin, secret, () => 1_000_000)

describe("a token of a plugin", () => {
  it("gives its payload on every node of the installation", () => {
    const token = tokensOf("browser").sign({ agent: "agt_1", calls: [1, null, "ü"] }, 60)
    expect(token).toMatch(/^[A-Za-z0-9._-]+$/)
    expect(tokensOf("browser").verify(token)).toEqual({ agent: "agt_1", calls: [1, null, "ü"] })
  })

  it("is not valid for another plugin or another installation", () => {
    const token = tokensOf("browser").sign({ agent: "agt_1" }, 60)
    expect(tokensOf("brows").verify(token)).toBeUndefined()
    expect(tokensOf("browser", "other").verify(token)).toBeUndefined()
  })

  it.effect("expires", () =>
    Effect.gen(function* () {
      const { sign, verify } = yield* Effect.provideService(makeHost("browser"), HostResources, {
        baseUrl: null,
        callsLeft: () => Effect.succeed(0),
        linkState: () => Effect.succeed("closed" as const),
        secret: "shared",
        pluginsDir: "plugins",
        makeVoiceActivity: () => ({ push: () => "silence" }),
        makeResampler: () => ({ push: (samples) => samples, end: () => new Int16Array(0) })
      })
      const token = sign("agt_1", 60)
      yield* TestClock.adjust(Duration.millis(59_999))
      expect(verify(token)).toBe("agt_1")
      yield* TestClock.adjust(Duration.millis(1))
      expect(verify(token)).toBeUndefined()
    })
  )

  it("that was changed anywhere is not valid, nor is any other text", () => {
    const { sign, verify } = tokensOf("browser")
    const token = sign({ agent: "agt_1" }, 60)
    for (let at = 0; at < token.length; at++) {
      const changed = token[at] === "A" ? "B" : "A"
      const forged = token.slice(0, at) + changed + token.slice(at + 1)
      // The last character of base64url has bits that mean nothing.
      if (
        Buffer.from(forged.split(".")[1] ?? "", "base64url").equals(Buffer.from(token.split(".")[1] ?? "", "base64url"))
      )
        if (forged.split(".")[0] === token.split(".")[0]) continue
      expect(verify(forged)).toBeUndefined()
    }
    for (const text of ["", ".", "..", "a.b", `${token}.`, `${token}.${token}`, token.repeat(100)]) {
      expect(verify(text)).toBeUndefined()
    }
  })

  it("is not made of a payload that is no JSON or too large, or without a time that is to come", () => {
    const { sign } = tokensOf("browser")
    expect(() => sign(undefined, 60)).toThrow("must be a value of JSON")
    expect(() => sign(() => 1, 60)).toThrow("must be a value of JSON")
    expect(() => sign("a".repeat(2000), 60)).toThrow("too large")
    for (const seconds of [0, -1, Number.NaN, Infinity]) expect(() => sign(1, seconds)).toThrow("positive")
  })
})
