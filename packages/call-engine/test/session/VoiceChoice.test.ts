import { describe, expect, it } from "@effect/vitest"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import type { Voice } from "@svc/providers/TextToSpeech"
import { ConfigProvider, Effect, Layer } from "effect"
import { Ticker } from "../../src/media/Ticker.ts"
import { phoneServices } from "../../src/session/PhoneServices.ts"
import { abilitiesOf, chooseVoice, resolveVoice } from "../../src/session/VoiceChoice.ts"
import { memory } from "../doubles/VirtualPhone.ts"

const silentServer = { callStarted: () => Effect.never, toolCall: () => Effect.never }

it.scopedLive(
  "resolveVoice resolves female and male to a voice that speaks the language, the call's own voice first",
  () =>
    Effect.gen(function* () {
      const { resolveVoice } = yield* phoneServices(() => {})
      expect(resolveVoice("Daan", "nl-NL", "Sarah")).toBe("Daan")
      expect(resolveVoice("female", "nl-NL", "Lotte")).toBe("Lotte")
      expect(resolveVoice("female", "nl-NL", "Daan")).toBe("Sarah")
      expect(resolveVoice("male", "nl-NL", "Sarah")).toBe("Daan")
      expect(resolveVoice("male", "en-GB", "Tom")).toBe("Oliver")
      // No man speaks it.
      expect(resolveVoice("male", "fr-FR", "Sarah")).toBe("Sarah")
      expect(resolveVoice("male", "fr-FR", "Camille")).toBe("Camille")
    }).pipe(
      Effect.provide(Layer.mergeAll(memory({ rows: [], events: [], transcript: [] }, silentServer), Ticker.layer)),
      Effect.provide(PluginLoader.layer()),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_PLUGINS", "@svc/plugin-simulated"]])))
    )
)

describe("the name of a voice", () => {
  const provider = (id: string, ...voices: ReadonlyArray<Voice>) => ({
    id,
    voices,
    sampleRates: [8000],
    health: Effect.die("not asked"),
    open: () => Effect.die("not asked")
  })
  const first = provider(
    "first",
    { name: "nova", languages: ["en-US"], gender: "female" },
    { name: "Nova", languages: ["de-DE"], gender: "male" }
  )
  const second = provider("second", { name: "NOVA", languages: "*", gender: "female" })
  const choose = chooseVoice([first, second], second)

  it("ignores case; the first provider with it that speaks the language owns it, and gets it as it writes it", () => {
    const chosen = (voice: string, language: string, fallback = 0) => {
      const { provider, voice: name } = choose({ voice, language, provider: fallback })
      return [provider.id, name]
    }
    expect(chosen("Nova", "en-US")).toEqual(["first", "nova"])
    expect(chosen("NOVA", "en-US")).toEqual(["first", "nova"])
    expect(chosen("nova", "de-DE")).toEqual(["first", "Nova"])
    expect(chosen("nova", "fr-FR")).toEqual(["second", "NOVA"])
    expect(chosen("nova", "en-US", 1)).toEqual(["second", "NOVA"])
    expect(chosen("Nobody", "en-US")).toEqual(["second", "Nobody"])
  })

  it("ignores case where the call's settings and switches of language are checked", () => {
    const { speaks, voiceFor } = abilitiesOf({ textToSpeech: [first, second], languageModel: [] })
    expect([speaks("NoVa", "en-US"), speaks("NoVa", "fr-FR"), speaks("Nobody", "en-US")]).toEqual([true, true, false])
    expect(voiceFor("NOVa", "de-DE")).toBe("Nova")
    expect(resolveVoice([first, second])("female", "en-US", "NOVA")).toBe("NOVA")
  })
})
