import { HttpApi, HttpApiSchema, OpenApi, OpenApiJsonSchema } from "@effect/platform"
import { type Access, AccessRule } from "@svc/api/Principal"
import * as Errors from "@svc/api/VoiceError"
import { Context, Either, Option, Schema } from "effect"
import type { Body, Contract, Operation, Parameter, Response } from "./DocumentsContract.ts"
import { exampleOf } from "./DocumentsExample.ts"

/** An error's schema on the wire. */
type Wire = (typeof Errors.ValidationError)["wire"]

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

const headersOf = (status: number): NonNullable<Response["headers"]> => {
  // A 401 is nobody's; neither is a 429 always, nor what fails before the key was looked at.
  const names: ReadonlyArray<keyof typeof headers> =
    status === 401
      ? [...onEvery, "WWW-Authenticate"]
      : status === 429
        ? [...onAuthenticated, "Retry-After"]
        : status >= 500
          ? onEvery
          : onAuthenticated
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

const requestId: Parameter = {
  name: "X-Request-Id",
  in: "header",
  required: false,
  description: "Your own name for the request; the answer carries it.",
  schema: text
}

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

/** The errors that the server's own checks add to an endpoint's, in the order of the checks (decisions §2.3). */
const checksOf = (method: string, { creditsExempt, needs }: Access, takesBody: boolean): ReadonlyArray<Wire> => {
  const writes = method !== "GET"
  const checks: ReadonlyArray<readonly [applies: boolean, error: { readonly wire: unknown }]> = [
    [needs === "project", Errors.ProjectIdRequired],
    [takesBody, Errors.InvalidJson],
    [writes && !creditsExempt, Errors.InsufficientCredits],
    [needs === "org", Errors.OrgKeyRequired],
    [writes, Errors.ReadOnlyKey],
    [needs !== "org", Errors.ProjectNotFound],
    [true, Errors.RequestTooLarge]
  ]
  // They differ in the code alone, which is a literal in each.
  return checks.flatMap(([applies, { wire }]) => (applies ? [wire as Wire] : []))
}

/** What the generator writes of its own accord, and says nothing to a reader. */
const isNoise = (keyword: string, value: unknown): boolean =>
  keyword === "title" ||
  keyword === "$id" ||
  (keyword === "description" && typeof value === "string" && /^an? /.test(value))

/** Without noise, and with `Int` spelled out. `named`: the keys are names of properties, not keywords. */
const tidy = (value: unknown, named = false): unknown => {
  if (Array.isArray(value)) return value.map((each) => tidy(each))
  if (typeof value !== "object" || value === null) return value
  if ("$ref" in value && value.$ref === "#/components/schemas/Int") return { type: "integer" }
  return Object.fromEntries(
    Object.entries(value).flatMap(([keyword, of]) =>
      !named && isNoise(keyword, of) ? [] : [[keyword, tidy(of, !named && keyword === "properties")]]
    )
  )
}

/** An example of each error, by its code. */
const errorExamples = (schemas: Contract["components"]["schemas"]): NonNullable<Contract["components"]["examples"]> =>
  Object.fromEntries(
    Object.values(schemas).flatMap(({ description = "", properties }) => {
      const code = properties?.["code"]?.enum?.[0]
      if (typeof code !== "string" || properties?.["retryAfter"] === undefined) return []
      const details = code === "VALIDATION_ERROR" ? { details: { field: description } } : {}
      const retry = /RATE_LIMIT/.test(code) ? { retryAfter: 30 } : {}
      const value = { code, message: description, error: description, ...details, ...retry }
      return [[code, { summary: description, value }]]
    })
  )

/** The errors of one status as one response: a schema and an example for each code. */
const errorResponse = (
  status: number,
  names: ReadonlyArray<string>,
  schemas: Contract["components"]["schemas"]
): Response => {
  const errors = names.map((name) => {
    const code = String(schemas[name]?.properties?.["code"]?.enum?.[0])
    const message = schemas[name]?.description ?? ""
    return { $ref: `#/components/schemas/${name}`, code, message }
  })
  const [first, ...others] = errors
  return {
    description: errors.map(({ code, message }) => `\`${code}\`: ${message}`).join("\n\n"),
    headers: headersOf(status),
    content: {
      "application/json": {
        schema:
          first !== undefined && others.length === 0
            ? { $ref: first.$ref }
            : { anyOf: errors.map(({ $ref }) => ({ $ref })) },
        examples: Object.fromEntries(errors.map(({ code }) => [code, { $ref: `#/components/examples/${code}` }]))
      }
    }
  }
}

/** The component that a schema refers to. */
const nameOf = (schema: object): string => {
  const ref = "$ref" in schema ? String(schema.$ref) : ""
  return ref.slice(ref.lastIndexOf("/") + 1)
}

/** Puts an error's schema among `schemas`, under the name that is given back. */
const addSchema = (error: Wire, schemas: { [name: string]: unknown }): string =>
  nameOf(OpenApiJsonSchema.makeWithDefs(error, { defs: schemas, additionalPropertiesStrategy: "allow" }))

/** What the generator lists for requests that do not decode; the server answers those in the API's own shapes. */
const generated = ["HttpApiDecodeError", "Issue", "PropertyKey"]

/** What is known of an endpoint beside its generated operation. */
interface Facts {
  readonly method: string
  readonly access: Access
  readonly takesBody: boolean
  /** The query when nothing is given. */
  readonly defaults: { readonly [name: string]: unknown }
}

/** The query of a request that has none: what its parameters are by default. */
const defaultsOf = (query: Option.Option<Schema.Schema.All>): Facts["defaults"] => {
  if (Option.isNone(query)) return {}
  // Queries need no services: they describe text.
  const decoded = Schema.decodeUnknownEither(query.value as Schema.Schema<unknown, unknown>)({})
  return Either.isRight(decoded) ? { ...(decoded.right as object) } : {}
}

const factsOf = (api: HttpApi.HttpApi.AnyWithProps): ReadonlyMap<string, Facts> => {
  const facts = new Map<string, Facts>()
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group, mergedAnnotations }) => {
      facts.set(`${group.identifier}.${endpoint.name}`, {
        method: endpoint.method,
        access: Option.getOrElse(Context.getOption(mergedAnnotations, AccessRule), () => AccessRule.standard),
        takesBody: Option.isSome(endpoint.payloadSchema),
        defaults: defaultsOf(endpoint.urlParamsSchema)
      })
    }
  })
  return facts
}

const withDefault = (parameter: Parameter, value: unknown): Parameter =>
  value === undefined ? parameter : { ...parameter, schema: { ...parameter.schema, default: value } }

const withExample = (body: Body, schemas: Contract["components"]["schemas"]): Body => ({
  ...body,
  example: exampleOf(body.schema, schemas)
})

/** Completes one operation with what the server does for every endpoint. */
const complete = (operation: Operation, facts: Facts, all: Contract): Operation => {
  const { schemas } = all.components
  const byStatus = new Map<number, Array<string>>()
  const addError = (status: number, name: string): void => {
    const names = byStatus.get(status) ?? []
    if (!names.includes(name) && !generated.includes(name)) names.push(name)
    if (names.length > 0) byStatus.set(status, names)
  }
  const successes: Array<readonly [string, Response]> = []
  for (const [status, response] of Object.entries(operation.responses)) {
    const body = response.content?.["application/json"]
    if (Number(status) < 400) {
      const content = body && { "application/json": withExample(body, schemas) }
      successes.push([status, { ...response, headers: headersOf(Number(status)), ...(content && { content }) }])
    } else {
      for (const schema of body?.schema.anyOf ?? (body ? [body.schema] : [])) addError(Number(status), nameOf(schema))
    }
  }
  for (const error of checksOf(facts.method, facts.access, facts.takesBody)) {
    addError(HttpApiSchema.getStatusError(error), addSchema(error, {}))
  }
  const errors = [...byStatus].sort(([a], [b]) => a - b)
  const body = operation.requestBody?.content["application/json"]
  return {
    ...operation,
    security: all.security,
    parameters: [
      ...operation.parameters.map((parameter) => withDefault(parameter, facts.defaults[parameter.name])),
      ...projectId(facts.access),
      requestId
    ],
    ...(body && { requestBody: { required: true, content: { "application/json": withExample(body, schemas) } } }),
    responses: Object.fromEntries([
      ...successes,
      ...errors.map(([status, names]) => [String(status), errorResponse(status, names, schemas)] as const)
    ])
  }
}

/** A generated document as plain JSON, which is all that is left of it on the wire; with the schemas that we add. */
const plain = (spec: OpenApi.OpenAPISpec, added: Readonly<Record<string, unknown>>): Contract => {
  const schemas = Object.entries({ ...added, ...spec.components.schemas })
  const kept = Object.fromEntries(schemas.filter(([name]) => name !== "Int" && !generated.includes(name)))
  const components = { ...spec.components, schemas: tidy(kept, true) }
  return JSON.parse(JSON.stringify({ ...spec, paths: tidy(spec.paths), components }))
}

/**
 * The OpenAPI 3.1 document of a contract: what its schemas say, and what the server does for every endpoint (checks,
 * headers, errors). `url` is the address of the server; `/` where the document itself came from.
 */
export const describe = (contract: HttpApi.HttpApi.Any, url: string): Contract => {
  // `Any` is the type of every contract; the generator asks for the full one and reads only what each has.
  const api = contract as HttpApi.HttpApi.AnyWithProps
  const added: Record<string, unknown> = {}
  const facts = factsOf(api)
  for (const { access, method, takesBody } of facts.values()) {
    for (const error of checksOf(method, access, takesBody)) addSchema(error, added)
  }
  const spec = OpenApi.fromApi(api, { additionalPropertiesStrategy: "allow" })
  const all = plain(spec, added)
  const paths = Object.entries(all.paths).map(([path, item]) => [
    path,
    Object.fromEntries(
      Object.entries(item).map(([method, operation]) => {
        const known = facts.get(operation.operationId)
        return [method, known === undefined ? operation : complete(operation, known, all)]
      })
    )
  ])
  return {
    ...all,
    servers: [{ url }],
    paths: Object.fromEntries(paths),
    components: { ...all.components, headers, examples: errorExamples(all.components.schemas) }
  }
}
