import { fileURLToPath } from "node:url"
import { expect, layer } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { ConfigProvider, Effect, Layer } from "effect"
import { commandPlugins, serverPlugins } from "../src/PluginHosting.ts"
import { hosts } from "./servers/KeepsHost.ts"

const plugin = fileURLToPath(new URL("./servers/KeepsHost.ts", import.meta.url))

/** Builds the layer with a plugin that only keeps its host, and returns the host. */
const hostIn = (plugins: typeof serverPlugins, settings: ReadonlyArray<readonly [string, string]> = []) =>
  Layer.build(Layer.fresh(plugins)).pipe(
    Effect.withConfigProvider(
      ConfigProvider.fromMap(new Map([["SVC_PLUGINS", `${plugin},@svc/plugin-simulated`], ...settings]))
    ),
    Effect.flatMap(() => Effect.fromNullable(hosts.pop()))
  )

layer(TestDatabase.layer)("the host of plugins in a server", (it) => {
  it.scoped("has the public address and the engine's detector and resampler", () =>
    Effect.gen(function* () {
      const host = yield* hostIn(serverPlugins, [["SVC_BASE_URL", "https://voice.example.com/"]])
      expect(host.baseUrl).toBe("https://voice.example.com")
      const detector = host.makeVoiceActivity(16_000)
      expect(detector.push(new Int16Array(320))).toBe("silence")
      detector.close?.()
      const resampler = host.makeResampler(8000, 16_000)
      const samples = [...resampler.push(new Int16Array(80)), ...resampler.end()]
      expect(samples).toHaveLength(160)
    })
  )

  it.scoped("signs tokens that all servers of the installation verify, and a command does not", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* hostIn(serverPlugins), yield* hostIn(serverPlugins)]
      expect(one.baseUrl).toBeNull()
      expect(other.verify(one.sign({ agent: "agt_1" }, 60))).toEqual({ agent: "agt_1" })
      const command = yield* hostIn(commandPlugins())
      expect(command.verify(one.sign(1, 60))).toBeUndefined()
      expect(one.verify(command.sign(1, 60))).toBeUndefined()
      expect(command.verify(command.sign(1, 60))).toBe(1)
    })
  )
})
