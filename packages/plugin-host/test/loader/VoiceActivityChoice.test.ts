import { expect, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { describe } from "vitest"
import { chosenVoiceActivity } from "../../src/loader/VoiceActivityChoice.ts"

const activity = { open: () => ({ push: () => "speech" as const }) }
const other = { open: () => ({ push: () => "silence" as const }) }

const plugin = (name: string, voiceActivity: typeof activity | typeof other | undefined) => ({
  plugin: { name },
  built: { voiceActivity }
})
const loaded = [plugin("model", undefined), plugin("first", activity), plugin("second", other)]

const chosen = (setting: string | undefined, started = loaded) =>
  chosenVoiceActivity(started).pipe(
    Effect.withConfigProvider(
      ConfigProvider.fromMap(new Map(setting === undefined ? [] : [["SVC_VOICE_ACTIVITY", setting]]))
    )
  )

describe("SVC_VOICE_ACTIVITY", () => {
  it.effect("names the plugin whose voice activity is used", () =>
    Effect.gen(function* () {
      expect(yield* chosen("second")).toBe(other)
      expect(yield* chosen(" first ")).toBe(activity)
    })
  )

  it.effect("is built-in for the engine's own, whatever plugins have", () =>
    Effect.gen(function* () {
      expect(yield* chosen("built-in")).toBeUndefined()
    })
  )

  it.effect("when it is not set, the first plugin that has a voice activity is used, else the engine's own", () =>
    Effect.gen(function* () {
      for (const unset of [undefined, ""]) {
        expect(yield* chosen(unset)).toBe(activity)
        expect(yield* chosen(unset, [plugin("model", undefined)])).toBeUndefined()
      }
    })
  )

  it.effect("that names a plugin without voice activity, or one that is not loaded, is refused with the choices", () =>
    Effect.gen(function* () {
      expect((yield* Effect.flip(chosen("model"))).message).toBe(
        "plugin model: has no voice activity, but SVC_VOICE_ACTIVITY names it; it can be one of built-in, first, second"
      )
      expect((yield* Effect.flip(chosen("third", []))).message).toBe(
        "plugin third: is not loaded, but SVC_VOICE_ACTIVITY names it; it can be one of built-in"
      )
    })
  )
})
