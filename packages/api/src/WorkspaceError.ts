import { HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { type ApiError, type ApiErrorClass, defineAs } from "./ApiError.ts"

/** Every code of the workspace API with its status and what it means. */
export const workspaceErrors = {
  INVALID_API_KEY: [401, "The key is missing, invalid, revoked or expired"],
  AUTH_RATE_LIMITED: [429, "Too many failed authentications from this address"],
  SCOPE_INSUFFICIENT: [403, "The key lacks the scope"],
  VALIDATION_ERROR: [400, "The body or the query is not valid; see `issues`"],
  RESOURCE_NOT_FOUND: [404, "The id is unknown, or is another tenant's"],
  METHOD_NOT_ALLOWED: [405, "The method is not supported"],
  INVALID_STATE: [422, "The resource's state forbids the operation"],
  PAYG_LIMIT: [403, "The free plan's limit of resources is reached"],
  IDEMPOTENCY_KEY_TOO_LONG: [400, "`Idempotency-Key` is over 128 characters"],
  IDEMPOTENCY_KEY_CONFLICT: [409, "The same `Idempotency-Key` with a different request, or with one that still runs"],
  IDEMPOTENCY_KEY_QUOTA_EXCEEDED: [429, "Too many distinct idempotency keys in a day"],
  RATE_LIMITED: [429, "Too many requests, of this key or in all"],
  REQUEST_TOO_LARGE: [413, "The request body is over 1 MB"],
  MIDDLEWARE_ORDER: [500, "The server is not configured rightly"],
  INTERNAL: [500, "Something went wrong on our side"]
} as const satisfies { readonly [code: string]: readonly [status: number, meaning: string] }

/** A code of {@link workspaceErrors}. */
export type WorkspaceErrorCode = keyof typeof workspaceErrors

/** Types of errors, coarser than the codes. */
const ErrorType = Schema.Literal("invalid_request_error", "permission_denied", "rate_limit_error", "server_error")
type ErrorType = typeof ErrorType.Type

/**
 * The error type of a status. An invalid key (401) is an `invalid_request_error`, as in other APIs with these types.
 */
const typeOf = (status: number): ErrorType => {
  if (status === 403) return "permission_denied"
  if (status === 429) return "rate_limit_error"
  return status >= 500 ? "server_error" : "invalid_request_error"
}

/** The body of an error with one of these codes. */
const bodyWith = <Code extends Schema.Schema.Any>(code: Code) =>
  Schema.Struct({
    error: Schema.Struct({
      type: ErrorType,
      code,
      message: Schema.String.annotations({ description: "For people." }),
      param: Schema.optional(Schema.String.annotations({ description: "The field or parameter at fault." })),
      issues: Schema.optional(
        Schema.Array(Schema.Struct({ field: Schema.String, message: Schema.String })).annotations({
          description: "What is wrong with each field."
        })
      )
    }),
    meta: Schema.Struct({
      request_id: Schema.String.annotations({ description: "The same as the `X-Request-Id` header." })
    })
  })

const meanings = Object.entries(workspaceErrors).map(
  ([code, [status, meaning]]) => `\`${code}\` (${status}): ${meaning}.`
)

// The keys of a constant object are exactly its type's.
const codes = Object.keys(workspaceErrors) as ReadonlyArray<WorkspaceErrorCode>

/** The body of every error of the workspace API. */
export const WorkspaceErrorBody = bodyWith(
  Schema.Literal(...codes).annotations({ description: meanings.join("\n\n") })
).annotations({ identifier: "Error", description: "The body of every error." })
export type WorkspaceErrorBody = typeof WorkspaceErrorBody.Type

const wire = <const Code extends WorkspaceErrorCode>(tag: string, code: Code) => {
  const [status, meaning] = workspaceErrors[code]
  return bodyWith(Schema.Literal(code)).annotations({
    identifier: tag,
    description: meaning,
    ...HttpApiSchema.annotations({ status })
  })
}

/** Defines an error of the workspace API: `class InvalidState extends define("InvalidState", "INVALID_STATE") {}` */
export const define = <const Tag extends string, const Code extends WorkspaceErrorCode>(
  tag: Tag,
  code: Code,
  message: string = workspaceErrors[code][1]
): ApiErrorClass<Tag, Code, ReturnType<typeof wire<Code>>> =>
  defineAs(tag, code, workspaceErrors[code][0], message, wire(tag, code))

/** Errors that any request may get from the server. */

export class InvalidApiKey extends define("InvalidApiKey", "INVALID_API_KEY", "API key is missing or invalid") {}
export class AuthRateLimited extends define("AuthRateLimited", "AUTH_RATE_LIMITED") {}
export class RateLimited extends define("RateLimited", "RATE_LIMITED", "Too many requests") {}
export class ScopeInsufficient extends define("ScopeInsufficient", "SCOPE_INSUFFICIENT") {}
export class RequestTooLarge extends define("RequestTooLarge", "REQUEST_TOO_LARGE") {}
export class Internal extends define("Internal", "INTERNAL") {}
export class MiddlewareOrder extends define("MiddlewareOrder", "MIDDLEWARE_ORDER") {}
export class IdempotencyKeyTooLong extends define(
  "IdempotencyKeyTooLong",
  "IDEMPOTENCY_KEY_TOO_LONG",
  "Idempotency-Key must not exceed 128 characters"
) {}
export class IdempotencyKeyConflict extends define(
  "IdempotencyKeyConflict",
  "IDEMPOTENCY_KEY_CONFLICT",
  "This Idempotency-Key was used for a different request"
) {}
export class IdempotencyKeyQuotaExceeded extends define(
  "IdempotencyKeyQuotaExceeded",
  "IDEMPOTENCY_KEY_QUOTA_EXCEEDED",
  "Too many distinct idempotency keys today"
) {}

/** Errors of endpoints. */

export class ResourceNotFound extends define("ResourceNotFound", "RESOURCE_NOT_FOUND", "No such resource") {}
export class InvalidState extends define("InvalidState", "INVALID_STATE") {}
export class PaygLimit extends define("PaygLimit", "PAYG_LIMIT") {}
export class ValidationError extends define("ValidationError", "VALIDATION_ERROR", "The request is not valid") {
  /** The error of fields, each with the same message. */
  static fields(fields: ReadonlyArray<string>, message: string): ValidationError {
    return new ValidationError({ message, details: Object.fromEntries(fields.map((field) => [field, message])) })
  }
}

const isCode = (code: string): code is WorkspaceErrorCode => Object.hasOwn(workspaceErrors, code)

/**
 * The code of an error in this API. Errors of parts that both APIs share have only the voice API's codes: an unknown
 * path, invalid JSON, a server that stops.
 */
const codeOf = ({ code, status }: ApiError): WorkspaceErrorCode => {
  if (isCode(code)) return code
  if (status === 404) return "RESOURCE_NOT_FOUND"
  return status >= 500 ? "INTERNAL" : "VALIDATION_ERROR"
}

/** The body of an error, without the request id. */
export const toErrorBody = (error: ApiError): WorkspaceErrorBody["error"] => {
  const issues = Object.entries(error.details ?? {}).map(([field, message]) => ({ field, message }))
  const [first] = issues
  return {
    type: typeOf(error.status),
    code: codeOf(error),
    message: error.message,
    ...(first === undefined ? {} : { param: first.field, issues })
  }
}
