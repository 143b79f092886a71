import { ChatErrorObject, isChatPath, toChatErrorBody } from "@svc/api/chat/ChatError"
import { type Access, AccessRule } from "@svc/api/Principal"
import * as Errors from "@svc/api/VoiceError"
import { Context, Option } from "effect"
import type { Parameter } from "./Contract.ts"
import type { Conventions, EndpointFacts, ErrorVariant, Wire } from "./Conventions.ts"

const text = { type: "string" }
const integer = { type: "integer" }
const headers = {
  "X-Request-Id": { description: "Names this request. One that you send is sent back.", schema: text },
  "X-RateLimit-Limit": {
    description: "Requests that the organization has per minute; absent without a limit.",
    schema: integer
  },
  "X-RateLimit-Remaining": { description: "Requests left in this minute; absent without a limit.", schema: integer },
  "X-RateLimit-Reset": { description: "Unix second at which the minute ends.", schema: integer },
  "X-RateLimit-Tier": { description: "The organization's tier.", schema: text },
  "X-Concurrent-Call-Limit": { description: "Calls that the organization may have at once.", schema: integer },
  "Retry-After": { description: "Whole seconds after which to try again.", schema: integer },
  "WWW-Authenticate": { description: "`Bearer`", schema: text }
} as const

const onEvery = ["X-Request-Id"] as const
const onAuthenticated = [
  "X-Request-Id",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-RateLimit-Tier",
  "X-Concurrent-Call-Limit"
] as const

const headersOf: Conventions["headersOf"] = (status): ReadonlyArray<keyof typeof headers> =>
  // These have no organization: a 401, some 429s, and what fails before the key is read.
  status === 401
    ? [...onEvery, "WWW-Authenticate"]
    : status === 429
      ? [...onAuthenticated, "Retry-After"]
      : status >= 500
        ? onEvery
        : onAuthenticated

const requestId: Parameter = {
  name: "X-Request-Id",
  in: "header",
  required: false,
  description: "Your own name for the request; the answer carries it.",
  schema: text
}

const accessOf = ({ annotations }: EndpointFacts): Access =>
  Option.getOrElse(Context.getOption(annotations, AccessRule), () => AccessRule.standard)

const projectId = ({ needs }: Access): ReadonlyArray<Parameter> =>
  needs === "org"
    ? []
    : [
        {
          name: "X-Project-Id",
          in: "header",
          required: false,
          description: `With an organization key: the project to work in, by public or numeric id${needs === "project" ? " (required)" : ""}.`,
          schema: text
        }
      ]

/** In the order of the checks. */
const checksOf: Conventions["checksOf"] = (endpoint) => {
  const { method, takesBody } = endpoint
  const { creditsExempt, needs, needsFullKey } = accessOf(endpoint)
  const writes = method !== "GET"
  const checks: ReadonlyArray<readonly [applies: boolean, error: { readonly wire: Wire }]> = [
    [needs === "project", Errors.ProjectIdRequired],
    [takesBody, Errors.InvalidJson],
    [writes && !creditsExempt, Errors.InsufficientCredits],
    [needs === "org", Errors.OrgKeyRequired],
    [writes || needsFullKey, Errors.ReadOnlyKey],
    [needs !== "org", Errors.ProjectNotFound],
    [true, Errors.RequestTooLarge]
  ]
  return checks.flatMap(([applies, { wire }]) => (applies ? [wire] : []))
}

/** Field messages and seconds, of the codes that have them. */
const extrasOf = (code: string, message: string) => ({
  ...(code === "VALIDATION_ERROR" && { details: { field: message } }),
  ...(/RATE_LIMIT/.test(code) && { retryAfter: 30 })
})

/** At the chat endpoints `error` is an object. See docs/reference/chat.md. */
const chatErrors: ErrorVariant = {
  prefix: "Chat.",
  parts: [ChatErrorObject],
  schemaOf: (error) => ({
    ...error,
    properties: { ...error.properties, error: { $ref: "#/components/schemas/ChatErrorObject" } }
  }),
  example: (code, message, status) => toChatErrorBody({ _tag: code, code, message, status, ...extrasOf(code, message) })
}

/** What holds for every endpoint of the voice API. */
export const voice: Conventions = {
  headers,
  headersOf,
  parametersOf: (endpoint) => [...projectId(accessOf(endpoint)), requestId],
  remarkOf: () => undefined,
  checksOf,
  variantOf: ({ path }) => (isChatPath(path) ? chatErrors : undefined),
  codeOf: ({ properties }) => {
    const code = properties?.["code"]?.enum?.[0]
    return typeof code === "string" && properties?.["retryAfter"] !== undefined ? code : undefined
  },
  errorExample: (code, message) => ({
    code,
    message,
    error: message,
    ...extrasOf(code, message)
  })
}
