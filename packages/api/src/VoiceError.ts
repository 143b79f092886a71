import { HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { type ApiError, type ApiErrorClass, defineAs } from "./ApiError.ts"

/** The body of every error of the voice API. See docs/reference/conventions.md. */
export interface VoiceErrorBody {
  readonly code: string
  readonly message: string
  /** Repeats `message`. */
  readonly error: string
  /** Field path (dotted) → message; with VALIDATION_ERROR. */
  readonly details?: { readonly [field: string]: string }
  /** Whole seconds; with every 429. */
  readonly retryAfter?: number
}

/** The wire schema of one error, for the OpenAPI document and the typed client. */
const wire = <const Code extends string>(tag: string, code: Code, status: number, message: string) =>
  Schema.Struct({
    code: Schema.Literal(code),
    message: Schema.String,
    error: Schema.String,
    details: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String })),
    retryAfter: Schema.optional(Schema.Int)
  }).annotations({ identifier: tag, description: message, ...HttpApiSchema.annotations({ status }) })

/** Defines an error of the voice API: `class AgentNotFound extends define("AgentNotFound", "AGENT_NOT_FOUND", 404, "agent not found") {}` */
export const define = <const Tag extends string, const Code extends string>(
  tag: Tag,
  code: Code,
  status: number,
  defaultMessage: string
): ApiErrorClass<Tag, Code, ReturnType<typeof wire<Code>>> =>
  defineAs(tag, code, status, defaultMessage, wire(tag, code, status, defaultMessage))

/** The JSON body of an error. */
export const toBody = (e: Pick<ApiError, "code" | "message" | "details" | "retryAfter">): VoiceErrorBody => ({
  code: e.code,
  message: e.message,
  error: e.message,
  ...(e.details === undefined ? {} : { details: e.details }),
  ...(e.retryAfter === undefined ? {} : { retryAfter: e.retryAfter })
})

// Errors of no particular area. Those of an area are beside its schemas.

export class MissingApiKey extends define("MissingApiKey", "MISSING_API_KEY", 401, "API key is missing") {}
export class InvalidApiKey extends define("InvalidApiKey", "INVALID_API_KEY", 401, "API key is invalid") {}
export class InsufficientCredits extends define(
  "InsufficientCredits",
  "INSUFFICIENT_CREDITS",
  402,
  "The account is paused: no credits left"
) {}
export class ReadOnlyKey extends define("ReadOnlyKey", "READ_ONLY_KEY", 403, "This key is read-only") {}
export class OrgKeyRequired extends define(
  "OrgKeyRequired",
  "ORG_KEY_REQUIRED",
  403,
  "An organization key is required"
) {}
export class ProjectNotFound extends define("ProjectNotFound", "PROJECT_NOT_FOUND", 404, "project not found") {}
export class ProjectIdRequired extends define(
  "ProjectIdRequired",
  "PROJECT_ID_REQUIRED",
  400,
  "An organization key needs the X-Project-Id header here"
) {}
export class ValidationError extends define("ValidationError", "VALIDATION_ERROR", 400, "The request is not valid") {
  /** The error of one field: `message` is that field's message. */
  static field(field: string, message: string): ValidationError {
    return new ValidationError({ message, details: { [field]: message } })
  }
  /** The error of several fields: `details` has the message of each. */
  static fields(details: Readonly<Record<string, string>>): ValidationError {
    const [first, ...others] = Object.values(details)
    const message = first !== undefined && others.length === 0 ? first : "Several fields are not valid"
    return new ValidationError({ message, details })
  }
}
export class BadRequest extends define("BadRequest", "BAD_REQUEST", 400, "The request is not valid") {}
export class InvalidJson extends define("InvalidJson", "INVALID_JSON", 400, "The body is not valid JSON") {}
export class RouteNotFound extends define("RouteNotFound", "ROUTE_NOT_FOUND", 404, "No such route") {}
export class MethodNotAllowed extends define("MethodNotAllowed", "METHOD_NOT_ALLOWED", 405, "Method not allowed") {}
export class RequestTooLarge extends define(
  "RequestTooLarge",
  "REQUEST_TOO_LARGE",
  413,
  "The request body is over 1 MB"
) {}
export class RateLimitExceeded extends define("RateLimitExceeded", "RATE_LIMIT_EXCEEDED", 429, "Too many requests") {}
export class AuthRateLimited extends define(
  "AuthRateLimited",
  "AUTH_RATE_LIMITED",
  429,
  "Too many failed authentications from this address"
) {}
export class InternalError extends define("InternalError", "INTERNAL_ERROR", 500, "Something went wrong on our side") {}
export class Unavailable extends define("Unavailable", "UNAVAILABLE", 503, "The service is not available right now") {}
