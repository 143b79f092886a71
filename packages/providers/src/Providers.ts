import { Context } from "effect"
import type { LanguageModel } from "./LanguageModel.ts"
import type { SpeechToText } from "./SpeechToText.ts"
import type { Telephony } from "./Telephony.ts"
import type { TextToSpeech } from "./TextToSpeech.ts"
import type { VoiceActivity } from "./VoiceActivity.ts"

/** A plugin that was loaded, for `svc plugins list`. */
export interface LoadedPlugin {
  readonly name: string
  /** Package name or path it came from. */
  readonly source: string
  readonly capabilities: ReadonlyArray<
    "telephony" | "speechToText" | "textToSpeech" | "languageModel" | "voiceActivity"
  >
}

/** Everything that the loaded plugins provide, in the order of preference. For speech and models the later ones are fallbacks. */
export class Providers extends Context.Tag("@svc/providers/Providers")<
  Providers,
  {
    readonly plugins: ReadonlyArray<LoadedPlugin>
    readonly telephony: ReadonlyArray<Context.Tag.Service<Telephony>>
    readonly speechToText: ReadonlyArray<Context.Tag.Service<SpeechToText>>
    readonly textToSpeech: ReadonlyArray<Context.Tag.Service<TextToSpeech>>
    readonly languageModel: ReadonlyArray<Context.Tag.Service<LanguageModel>>
    /** The best detector that a plugin brings, if any. */
    readonly voiceActivity: Context.Tag.Service<VoiceActivity> | undefined
  }
>() {}
