import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AccessRule } from "../Principal.ts"
import { ValidationError } from "../VoiceError.ts"

/** Maximum number of characters of an answer, as people count them: an emoji is one. Bounds the work. */
const answerCharacters = 1000

const Answer = (name: "expected" | "actual") =>
  Schema.String.pipe(
    Schema.filter((text) => text.length <= 2 * answerCharacters && [...text].length <= answerCharacters, {
      message: () => `${name} must not exceed ${answerCharacters} characters`,
      jsonSchema: { maxLength: answerCharacters }
    })
  )

/** Body of `POST /v1/verify/match`. */
export const AnswerMatchRequest = Schema.Struct({
  expected: Answer("expected")
    .pipe(
      Schema.filter((text) => text.trim() !== "", {
        message: () => "expected is required.",
        jsonSchema: { minLength: 1 }
      })
    )
    .annotations({ description: "The right answer", examples: ["3 May 1984"] }),
  actual: Answer("actual").annotations({
    description: "What was said. Empty when nothing was said: that never matches",
    examples: ["the third of may nineteen eighty-four"]
  }),
  threshold: Schema.optionalWith(
    Schema.Number.pipe(Schema.between(0, 1)).annotations({
      message: () => ({ message: "threshold must be between 0 and 1", override: true }),
      description: "The least score that is a match",
      examples: [0.8]
    }),
    { default: () => 0.8 }
  )
}).annotations({ identifier: "AnswerMatchRequest" })
export type AnswerMatchRequest = typeof AnswerMatchRequest.Type

/** Whether the answers match, and how alike they are. */
export const AnswerMatch = Schema.Struct({
  match: Schema.Boolean.annotations({ description: "Whether the score is at least the threshold, and above 0" }),
  score: Schema.Number.annotations({ description: "0 to 1, at most 4 decimals", examples: [1] })
}).annotations({ identifier: "AnswerMatch" })
export type AnswerMatch = typeof AnswerMatch.Type

/** `/v1/verify`. See docs/reference/matching.md. */
export const VerifyApi = HttpApiGroup.make("verify")
  .annotateContext(OpenApi.annotations({ title: "Verify", description: "Whether a caller's answer is the right one." }))
  .add(
    HttpApiEndpoint.post("match", "/v1/verify/match")
      .annotateContext(
        OpenApi.annotations({
          summary: "Compare answers",
          description:
            "Case, punctuation, diacritics and word order are forgiven, and so are small differences of words. Numbers, dates, letters and e-mail addresses may be spoken in any of the languages. Digits must be the same: otherwise the score is 0."
        })
      )
      .setPayload(AnswerMatchRequest)
      .addSuccess(AnswerMatch)
      .addError(ValidationError.wire)
      .annotate(AccessRule, AccessRule.projectOptional)
  )
