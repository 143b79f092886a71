import * as Plugin from "@svc/providers/Plugin"
import { Schema } from "effect"
import * as EspeakTextToSpeech from "./EspeakTextToSpeech.ts"

const Settings = Schema.Struct({
  program: Schema.optionalWith(Schema.NonEmptyString, { default: () => "espeak-ng" }),
  wordsPerMinute: Schema.optionalWith(Schema.NumberFromString.pipe(Schema.int(), Schema.between(80, 450)), {
    default: () => 175
  })
})

/**
 * Text-to-speech without a vendor or a network, in all languages of the platform, by the program `espeak-ng`. Each text is
 * spoken by a process of its own: the program is under the GPL and is never loaded into this one.
 *
 * Settings: `SVC_ESPEAK_PROGRAM` (its name or path), `SVC_ESPEAK_WORDS_PER_MINUTE` (at speed 1).
 */
export default Plugin.make({
  name: "espeak",
  apiVersion: "^2.0.0",
  config: Settings,
  provides: ({ program, wordsPerMinute }, host) => ({
    textToSpeech: EspeakTextToSpeech.layer({ program, wordsPerMinute, log: host.log })
  })
})
