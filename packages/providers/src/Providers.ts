import { Context } from "effect"
import type { Embedding } from "./Embedding.ts"
import type { LoadedLanguageModel } from "./LoadedLanguageModel.ts"
import type { ObjectStore } from "./ObjectStore.ts"
import type { SpeechToText } from "./SpeechToText.ts"
import type { Telephony } from "./Telephony.ts"
import type { TextToSpeech } from "./TextToSpeech.ts"
import type { VoiceActivity } from "./VoiceActivity.ts"

/** A loaded plugin. */
export interface LoadedPlugin {
  readonly name: string
  /** The package name or path from which it was loaded. */
  readonly source: string
  readonly capabilities: ReadonlyArray<
    "telephony" | "speechToText" | "textToSpeech" | "languageModel" | "voiceActivity" | "embedding" | "objectStore"
  >
}

/**
 * The providers of all loaded plugins, in order of preference: the first is used, later ones are fallbacks; all
 * telephony providers are used. Defined here and provided by plugin-host, because the slices that use it do not import
 * the loader.
 */
export class Providers extends Context.Tag("@svc/providers/Providers")<
  Providers,
  {
    readonly plugins: ReadonlyArray<LoadedPlugin>
    readonly telephony: ReadonlyArray<Context.Tag.Service<Telephony>>
    readonly speechToText: ReadonlyArray<Context.Tag.Service<SpeechToText>>
    readonly textToSpeech: ReadonlyArray<Context.Tag.Service<TextToSpeech>>
    readonly languageModel: ReadonlyArray<LoadedLanguageModel>
    /** The detector that `SVC_VOICE_ACTIVITY` names, else the first; undefined: that of the engine. */
    readonly voiceActivity: Context.Tag.Service<VoiceActivity> | undefined
    /** The first embedding provider. It has no fallback, because vectors of two models cannot be compared. */
    readonly embedding: Context.Tag.Service<Embedding> | undefined
    /** The first object store. Undefined: recordings are files of the server. */
    readonly objectStore: Context.Tag.Service<ObjectStore> | undefined
  }
>() {}
