import { Schema } from "effect"
import type { ApiError } from "../ApiError.ts"
import { define, toBody, type VoiceErrorBody } from "../VoiceError.ts"
import { chatModel } from "./ChatCompletion.ts"

export class UnsupportedModel extends define(
  "UnsupportedModel",
  "UNSUPPORTED_MODEL",
  400,
  `model must be ${chatModel}`
) {}

/** There is no model of this id to be read. */
export class ModelNotFound extends define("ModelNotFound", "MODEL_NOT_FOUND", 404, "model not found") {}

/** More chat completions in this minute than the organization's tier has. */
export class ChatRateLimitExceeded extends define(
  "ChatRateLimitExceeded",
  "AI_RATE_LIMIT_EXCEEDED",
  429,
  "Too many chat completions in this minute"
) {}

/** More chat completions at once than the organization's tier has. */
export class ChatConcurrentLimitExceeded extends define(
  "ChatConcurrentLimitExceeded",
  "AI_CONCURRENT_LIMIT_EXCEEDED",
  429,
  "Too many chat completions at once"
) {}

/** The object in `error` from which OpenAI's clients make their typed errors. */
export const ChatErrorObject = Schema.Struct({
  message: Schema.String.annotations({ description: "As outside" }),
  type: Schema.Literal(
    "invalid_request_error",
    "authentication_error",
    "insufficient_quota",
    "permission_error",
    "rate_limit_error",
    "server_error"
  ).annotations({ description: "Follows from the status" }),
  code: Schema.String.annotations({ description: "As outside" }),
  param: Schema.NullOr(Schema.String).annotations({
    description: "The first parameter that is wrong, as a dotted path; null when it is none"
  })
}).annotations({ identifier: "ChatErrorObject" })
export type ChatErrorObject = typeof ChatErrorObject.Type

/** The body of an error of the chat endpoints. */
export interface ChatErrorBody extends Omit<VoiceErrorBody, "error"> {
  readonly error: ChatErrorObject
}

const typeOf = (status: number): ChatErrorObject["type"] => {
  if (status === 401) return "authentication_error"
  if (status === 402) return "insufficient_quota"
  if (status === 403) return "permission_error"
  if (status === 429) return "rate_limit_error"
  return status >= 500 ? "server_error" : "invalid_request_error"
}

const paramOf = ({ code, details = {} }: ApiError): string | null => {
  if (code === "UNSUPPORTED_MODEL" || code === "MODEL_NOT_FOUND") return "model"
  return Object.keys(details)[0] ?? null
}

/** The JSON body of an error of the chat endpoints. See docs/reference/chat.md. */
export const toChatErrorBody = (error: ApiError): ChatErrorBody => ({
  ...toBody(error),
  error: { message: error.message, type: typeOf(error.status), code: error.code, param: paramOf(error) }
})

/** Whether a path belongs to the chat endpoints, whose errors have the shape above. */
export const isChatPath = (path: string): boolean =>
  path === "/v1/models" || path.startsWith("/v1/models/") || path === "/v1/chat" || path.startsWith("/v1/chat/")
