import { HttpApi, HttpApiSchema, OpenApi, OpenApiJsonSchema } from "@effect/platform"
import { EventStreamOf } from "@svc/api/EventStream"
import { Context, Either, Option, Schema } from "effect"
import type { Body, Contract, JsonSchema, Operation, Parameter, Response } from "./Contract.ts"
import type { Conventions, EndpointFacts, Wire } from "./Conventions.ts"
import { variantsOf } from "./ErrorVariants.ts"
import { exampleOf } from "./Example.ts"
import { bodyExamples, pathExamples, typescriptExample } from "./RequestExamples.ts"

/** Keywords that the generator adds and that do not help a reader. */
const isNoise = (keyword: string, value: unknown): boolean =>
  keyword === "title" ||
  keyword === "$id" ||
  (keyword === "description" && typeof value === "string" && /^an? /.test(value))

/** Without noise, with `Int` spelled out and a schema that is alone in `allOf` merged. `named`: the keys are names of properties, not keywords. */
const tidy = (value: unknown, named = false): unknown => {
  if (Array.isArray(value)) return value.map((each) => tidy(each))
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).flatMap(([keyword, of]): ReadonlyArray<[string, unknown]> => {
    if (!named && isNoise(keyword, of)) return []
    if (!named && keyword === "$ref" && of === "#/components/schemas/Int") return [["type", "integer"]]
    if (!named && keyword === "allOf" && Array.isArray(of) && of.length === 1) {
      const only = tidy(of[0])
      return typeof only === "object" && only !== null ? Object.entries(only) : []
    }
    return [[keyword, tidy(of, !named && keyword === "properties")]]
  })
  return Object.fromEntries(entries)
}

/** An example of each error, by its code. */
const errorExamples = (
  schemas: Contract["components"]["schemas"],
  { codeOf, errorExample }: Conventions
): NonNullable<Contract["components"]["examples"]> =>
  Object.fromEntries(
    Object.values(schemas).flatMap((schema) => {
      const { description = "" } = schema
      const code = codeOf(schema)
      return code === undefined ? [] : [[code, { summary: description, value: errorExample(code, description) }]]
    })
  )

const referTo = (headers: ReadonlyArray<string>): NonNullable<Response["headers"]> =>
  Object.fromEntries(headers.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** The errors of one status as one response: a schema and an example for each code. */
const errorResponse = (
  names: ReadonlyArray<string>,
  schemas: Contract["components"]["schemas"],
  headers: ReadonlyArray<string>,
  { codeOf }: Conventions,
  prefix: string
): Response => {
  const errors = names.map((name) => {
    const code = codeOf(schemas[name] ?? {}) ?? name
    const message = schemas[name]?.description ?? ""
    return { $ref: `#/components/schemas/${prefix}${name}`, code, message }
  })
  const [first, ...others] = errors
  return {
    description: errors.map(({ code, message }) => `\`${code}\`: ${message}`).join("\n\n"),
    headers: referTo(headers),
    content: {
      "application/json": {
        schema:
          first !== undefined && others.length === 0
            ? { $ref: first.$ref }
            : { anyOf: errors.map(({ $ref }) => ({ $ref })) },
        examples: Object.fromEntries(
          errors.map(({ code }) => [code, { $ref: `#/components/examples/${prefix}${code}` }])
        )
      }
    }
  }
}

/** The component that a schema refers to. */
const nameOf = (schema: object): string => {
  const ref = "$ref" in schema ? String(schema.$ref) : ""
  return ref.slice(ref.lastIndexOf("/") + 1)
}

/** Puts an error's schema among `schemas`, and returns its name. */
const addSchema = (error: Wire, schemas: { [name: string]: unknown }): string =>
  nameOf(OpenApiJsonSchema.makeWithDefs(error, { defs: schemas, additionalPropertiesStrategy: "allow" }))

/** What the generator lists for requests that do not decode; the server answers those in the API's own shapes. */
const generated = ["HttpApiDecodeError", "Issue", "PropertyKey"]

/** Properties of an endpoint that its generated operation lacks. */
interface Facts extends EndpointFacts {
  /** The query when nothing is given. */
  readonly defaults: { readonly [name: string]: unknown }
  readonly body: Option.Option<Schema.Schema.All>
  /** The data of one server-sent event, of an endpoint that may answer with them. */
  readonly event: JsonSchema | undefined
}

/** The query of a request that has none: what its parameters are by default. */
const defaultsOf = (query: Option.Option<Schema.Schema.All>): Facts["defaults"] => {
  if (Option.isNone(query)) return {}
  // Queries need no services: they describe text.
  const decoded = Schema.decodeUnknownEither(query.value as Schema.Schema<unknown, unknown>)({})
  return Either.isRight(decoded) ? { ...(decoded.right as object) } : {}
}

/** A body's schema with the defaults of its fields: what decoding adds to a body that has only what it must have. */
const withDefaults = (schema: JsonSchema, body: Facts["body"], example: unknown): JsonSchema => {
  if (Option.isNone(body) || typeof example !== "object" || example === null) return schema
  const least = Object.fromEntries(Object.entries(example).filter(([name]) => schema.required?.includes(name) === true))
  // Bodies need no services: they describe JSON.
  const decoded = Schema.decodeUnknownEither(body.value as Schema.Schema<unknown, unknown>)(least)
  if (Either.isLeft(decoded)) return schema
  const added = new Map(Object.entries({ ...(decoded.right as object) }).filter(([name]) => !(name in least)))
  const properties = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const value = added.get(name)
    return [name, value === undefined ? field : { ...field, default: value }] as const
  })
  return { ...schema, properties: Object.fromEntries(properties) }
}

/** `schemas` gets the schemas of events. */
const factsOf = (
  api: HttpApi.HttpApi.AnyWithProps,
  schemas: { [name: string]: unknown }
): ReadonlyMap<string, Facts> => {
  const facts = new Map<string, Facts>()
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group, mergedAnnotations }) => {
      const event = Option.getOrUndefined(Context.getOption(mergedAnnotations, EventStreamOf))
      facts.set(`${group.identifier}.${endpoint.name}`, {
        method: endpoint.method,
        path: endpoint.path,
        annotations: mergedAnnotations,
        takesBody: Option.isSome(endpoint.payloadSchema),
        defaults: defaultsOf(endpoint.urlParamsSchema),
        body: endpoint.payloadSchema,
        event: event && { $ref: `#/components/schemas/${addSchema(event, schemas)}` }
      })
    }
  })
  return facts
}

const withDefault = (parameter: Parameter, value: unknown): Parameter =>
  value === undefined ? parameter : { ...parameter, schema: { ...parameter.schema, default: value } }

const withExample = (body: Body, schemas: Contract["components"]["schemas"], example?: unknown): Body => ({
  ...body,
  example: example ?? exampleOf(body.schema, schemas)
})

const withPathExample = (parameter: Parameter): Parameter => {
  const example = parameter.in === "path" ? pathExamples[parameter.name] : undefined
  return example === undefined ? parameter : { ...parameter, example }
}

/** The address of an operation with the examples of its parameters. */
const exampleUrl = (base: string, path: string): string =>
  `${base === "/" ? "http://127.0.0.1:8787" : base.startsWith("/") ? `http://127.0.0.1:8787${base}` : base}${path.replace(/\{(\w+)\}/g, (_, name: string) => pathExamples[name] ?? name)}`

/** Completes one operation with what the server does for every endpoint. */
const complete = (
  operation: Operation,
  facts: Facts,
  all: Contract,
  conventions: Conventions,
  url: string
): Operation => {
  const { schemas } = all.components
  const prefix = conventions.variantOf(facts)?.prefix ?? ""
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
      const content = body && {
        "application/json": withExample(body, schemas),
        ...(facts.event !== undefined && { "text/event-stream": withExample({ schema: facts.event }, schemas) })
      }
      const headers = referTo(conventions.headersOf(Number(status), facts))
      successes.push([status, { ...response, headers, ...(content && { content }) }])
    } else {
      for (const schema of body?.schema.anyOf ?? (body ? [body.schema] : [])) addError(Number(status), nameOf(schema))
    }
  }
  for (const error of conventions.checksOf(facts)) {
    addError(HttpApiSchema.getStatusErrorAST(error.ast), addSchema(error, {}))
  }
  const errors = [...byStatus].sort(([a], [b]) => a - b)
  const body = operation.requestBody?.content["application/json"]
  const request = body && withExample(body, schemas, bodyExamples[operation.operationId])
  const remark = conventions.remarkOf(facts)
  const description = [operation.description, remark].filter((text) => text !== undefined).join("\n\n")
  return {
    ...operation,
    ...(description !== "" && { description }),
    security: all.security,
    parameters: [
      ...operation.parameters.map((parameter) =>
        withPathExample(withDefault(parameter, facts.defaults[parameter.name]))
      ),
      ...conventions.parametersOf(facts)
    ],
    ...(request && { requestBody: { required: true, content: { "application/json": request } } }),
    "x-codeSamples": [
      {
        lang: "TypeScript",
        label: "TypeScript",
        source: typescriptExample(facts.method.toLowerCase(), url, request?.example)
      }
    ],
    responses: Object.fromEntries([
      ...successes,
      ...errors.map(([status, names]) => {
        const headers = conventions.headersOf(status, facts)
        return [String(status), errorResponse(names, schemas, headers, conventions, prefix)] as const
      })
    ])
  }
}

/** A generated document as plain JSON, with the schemas that we add. */
const plain = (spec: OpenApi.OpenAPISpec, added: Readonly<Record<string, unknown>>): Contract => {
  const schemas = Object.entries({ ...added, ...spec.components.schemas })
  const kept = Object.fromEntries(schemas.filter(([name]) => name !== "Int" && !generated.includes(name)))
  const components = { ...spec.components, schemas: tidy(kept, true) }
  return JSON.parse(JSON.stringify({ ...spec, paths: tidy(spec.paths), components }))
}

/**
 * The OpenAPI 3.1 document of a contract: its schemas, and as `conventions` what the server does for every endpoint
 * (checks, headers, errors). `url` is the address of the API; `/` means the server that sent the document.
 */
export const describe = (contract: HttpApi.HttpApi.Any, url: string, conventions: Conventions): Contract => {
  // `Any` is the type of every contract; the generator asks for the full one and reads only what each has.
  const api = contract as HttpApi.HttpApi.AnyWithProps
  const added: Record<string, unknown> = {}
  const facts = factsOf(api, added)
  for (const each of facts.values()) {
    for (const error of conventions.checksOf(each)) addSchema(error, added)
    for (const part of conventions.variantOf(each)?.parts ?? []) addSchema(part, added)
  }
  const spec = OpenApi.fromApi(api, { additionalPropertiesStrategy: "allow" })
  const made = plain(spec, added)
  const schemas: Record<string, JsonSchema> = { ...made.components.schemas }
  for (const operation of Object.values(made.paths).flatMap((item) => Object.values(item))) {
    const body = operation.requestBody?.content["application/json"].schema
    const name = body === undefined ? "" : nameOf(body)
    const schema = schemas[name]
    const known = facts.get(operation.operationId)
    if (schema === undefined || known === undefined) continue
    const example = bodyExamples[operation.operationId] ?? exampleOf(schema, schemas)
    schemas[name] = withDefaults(schema, known.body, example)
  }
  const all: Contract = { ...made, components: { ...made.components, schemas } }
  const paths: Contract["paths"] = Object.fromEntries(
    Object.entries(all.paths).map(([path, item]) => [
      path,
      Object.fromEntries(
        Object.entries(item).map(([method, operation]) => {
          const known = facts.get(operation.operationId)
          return [
            method,
            known === undefined ? operation : complete(operation, known, all, conventions, exampleUrl(url, path))
          ]
        })
      )
    ])
  )
  const variants = new Set([...facts.values()].flatMap((each) => conventions.variantOf(each) ?? []))
  const other = variantsOf(paths, schemas, variants, conventions)
  return {
    ...all,
    servers: [{ url }],
    paths,
    components: {
      ...all.components,
      schemas: { ...schemas, ...other.schemas },
      headers: conventions.headers,
      examples: { ...errorExamples(schemas, conventions), ...other.examples }
    }
  }
}
