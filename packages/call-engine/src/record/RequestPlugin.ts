import type { ProviderRequest } from "@svc/conversation/CallTimeline"
import type { Conversation } from "@svc/conversation/State"
import type { LoadedPlugin, Providers } from "@svc/providers/Providers"
import type { Context } from "effect"
import { chooseModel } from "../session/ModelChoice.ts"
import { chooseRecognizer } from "../session/RecognizerChoice.ts"
import { chooseVoice, resolveVoice } from "../session/VoiceChoice.ts"

/**
 * The plugin to which a request went, by the providers that are loaded now: null when the call had others. The lists of
 * providers are in the order of the plugins.
 */
export const pluginOf =
  (
    { languageModel, plugins, speechToText, textToSpeech }: Context.Tag.Service<Providers>,
    state: Conversation | undefined
  ): ((request: ProviderRequest) => string | null) =>
  (request) => {
    const named = (capability: LoadedPlugin["capabilities"][number], index: number): string | null =>
      plugins.filter(({ capabilities }) => capabilities.includes(capability))[index]?.name ?? null
    const { recognizers, models, voices } = state?.facts.providers ?? { recognizers: [""], models: 1, voices: 1 }
    switch (request.capability) {
      case "speech-to-text": {
        const { language = "", provider } = request
        const chosen =
          recognizers.length === speechToText.length ? chooseRecognizer(speechToText, language, provider) : undefined
        return chosen === undefined ? null : named("speechToText", speechToText.indexOf(chosen))
      }
      case "language-model": {
        const model = models === languageModel.length ? chooseModel(languageModel, request) : undefined
        return model === undefined ? null : named("languageModel", languageModel.indexOf(model))
      }
      case "text-to-speech": {
        const { language = "", provider, voice: asked = "" } = request
        const [preferred] = textToSpeech
        if (voices !== textToSpeech.length || preferred === undefined) return null
        const ofCall = state?.config?.voice ?? state?.facts.agent.voice ?? asked
        const voice = resolveVoice(textToSpeech)(asked, language, ofCall)
        const chosen = chooseVoice(textToSpeech, preferred)({ provider, voice, language })
        return named("textToSpeech", textToSpeech.indexOf(chosen.provider))
      }
    }
  }
