import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Language } from "../agents/Language.ts"
import { AccessRule } from "../Principal.ts"
import { define, ValidationError } from "../VoiceError.ts"

/** A voice in one language that it speaks; a voice of several languages comes once for each. */
export const Voice = Schema.Struct({
  name: Schema.String.annotations({ description: "What `voice` of an agent takes", examples: ["Sarah"] }),
  language: Schema.String.annotations({ description: "BCP-47", examples: ["en-US"] }),
  gender: Schema.Literal("female", "male", "neutral"),
  preview_url: Schema.String.annotations({
    description: "A sample of the voice in this language, as WAV. It needs no key.",
    examples: ["https://voice.example.com/v1/voices/Sarah/preview?language=en-US"]
  })
}).annotations({ identifier: "Voice" })
export type Voice = typeof Voice.Type

/** There is no such voice to be heard. */
export class VoiceNotFound extends define("VoiceNotFound", "VOICE_NOT_FOUND", 404, "voice not found") {}

/** `/v1/voices`. See docs/reference/agents.md. */
export const VoicesApi = HttpApiGroup.make("voices")
  .annotateContext(OpenApi.annotations({ title: "Voices", description: "What agents can sound like." }))
  .add(
    HttpApiEndpoint.get("list", "/v1/voices")
      .annotateContext(
        OpenApi.annotations({
          summary: "List voices",
          description:
            "The voices of the server's text-to-speech plugins, in their order of preference. A voice that speaks several languages comes once for each; `language` gives those of one. `preview_url` is `GET /v1/voices/<name>/preview?language=<language>`: it needs no key, and answers with audio that a browser plays."
        })
      )
      .setUrlParams(Schema.Struct({ language: Schema.optional(Language) }))
      .addSuccess(Schema.Struct({ voices: Schema.Array(Voice) }))
      .addError(ValidationError.wire)
      .annotate(AccessRule, AccessRule.projectOptional)
  )
