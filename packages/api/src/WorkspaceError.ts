import { Schema } from "effect"

/** Every code of the workspace API with its status and what it means (spec 7.2). */
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
  IDEMPOTENCY_KEY_CONFLICT: [409, "The same `Idempotency-Key` with a different body"],
  IDEMPOTENCY_KEY_QUOTA_EXCEEDED: [429, "Too many distinct idempotency keys in a day"],
  RATE_LIMITED: [429, "Too many requests, of this key or in all"],
  REQUEST_TOO_LARGE: [413, "The request body is over 1 MB"],
  MIDDLEWARE_ORDER: [500, "The server is not configured rightly"],
  INTERNAL: [500, "Something went wrong on our side"]
} as const satisfies { readonly [code: string]: readonly [status: number, meaning: string] }

/** A code of {@link workspaceErrors}. */
export type WorkspaceErrorCode = keyof typeof workspaceErrors

// The keys of a constant object are exactly its type's.
const codes = Object.keys(workspaceErrors) as ReadonlyArray<WorkspaceErrorCode>

const meanings = Object.entries(workspaceErrors).map(
  ([code, [status, meaning]]) => `\`${code}\` (${status}): ${meaning}.`
)

/** The body of every error of the workspace API (spec 7.2). */
export const WorkspaceErrorBody = Schema.Struct({
  error: Schema.Struct({
    type: Schema.Literal("invalid_request_error", "permission_denied", "rate_limit_error", "server_error"),
    code: Schema.Literal(...codes).annotations({ description: meanings.join("\n\n") }),
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
}).annotations({ identifier: "Error", description: "The body of every error." })
