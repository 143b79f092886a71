import type { Voice } from "@svc/providers/TextToSpeech"
import { Context } from "effect"

/** The voices of the loaded text-to-speech plugins (decisions §3.6). Names are case-sensitive. */
export class Voices extends Context.Tag("@svc/agents/Voices")<
  Voices,
  {
    /** Whether an agent of this language may have this voice. `Sarah` speaks every language. */
    readonly isValid: (voice: string, language: string) => boolean
    /** All voices, or those of one language; one entry per name, in the order of the plugins. */
    readonly list: (language?: string) => ReadonlyArray<Voice>
  }
>() {}
