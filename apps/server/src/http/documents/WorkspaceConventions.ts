import { RequiredScope } from "@svc/api/Workspace"
import * as Errors from "@svc/api/WorkspaceError"
import { Context, Option } from "effect"
import type { Parameter } from "./Contract.ts"
import type { Conventions, EndpointFacts } from "./Conventions.ts"

const text = { type: "string" } as const

const isWrite = ({ method }: EndpointFacts): boolean => method !== "GET"

const requestId: Parameter = {
  name: "X-Request-Id",
  in: "header",
  required: false,
  description: "Your own name for the request; the answer carries it.",
  schema: text
}

const idempotencyKey: Parameter = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: "Makes the request safe to send again: it takes effect once, and has one answer for 24 hours.",
  schema: { type: "string", maxLength: 128 }
}

const exampleOf = (code: string, message: string): unknown => ({
  error: Errors.toErrorBody({
    _tag: code,
    code,
    status: Object.entries(Errors.workspaceErrors).find(([name]) => name === code)?.[1][0] ?? 500,
    message,
    ...(code === "VALIDATION_ERROR" && { details: { field: message } })
  }),
  meta: { request_id: "req_6f1d2c3b4a5968778695a4b3c2d1e0f9" }
})

/** What holds for every endpoint of the workspace API. */
export const workspace: Conventions = {
  headers: {
    "X-Request-Id": { description: "Names this request, as `meta.request_id` does.", schema: text },
    "Idempotency-Replayed": { description: "`true`: the first answer to this `Idempotency-Key`.", schema: text },
    "Retry-After": { description: "Whole seconds after which to try again.", schema: { type: "integer" } },
    "WWW-Authenticate": { description: "`Bearer`", schema: text }
  },
  headersOf: (status, endpoint) => {
    if (status === 401) return ["X-Request-Id", "WWW-Authenticate"]
    if (status === 429) return ["X-Request-Id", "Retry-After"]
    return isWrite(endpoint) && status < 500 ? ["X-Request-Id", "Idempotency-Replayed"] : ["X-Request-Id"]
  },
  parametersOf: (endpoint) => [...(isWrite(endpoint) ? [idempotencyKey] : []), requestId],
  remarkOf: ({ annotations }) =>
    Option.match(Context.getOption(annotations, RequiredScope), {
      onNone: () => undefined,
      onSome: (scope) => `Scope: \`${scope}\`.`
    }),
  checksOf: (endpoint) => [
    Errors.ScopeInsufficient.wire,
    Errors.RequestTooLarge.wire,
    ...(isWrite(endpoint)
      ? [Errors.IdempotencyKeyTooLong.wire, Errors.IdempotencyKeyConflict.wire, Errors.IdempotencyKeyQuotaExceeded.wire]
      : [])
  ],
  variantOf: () => undefined,
  codeOf: ({ properties }) => {
    const codes = properties?.["error"]?.properties?.["code"]?.enum ?? []
    return codes.length === 1 ? String(codes[0]) : undefined
  },
  errorExample: exampleOf
}
