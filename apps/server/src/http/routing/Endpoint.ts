import type { IncomingHttpHeaders } from "node:http"
import { HttpApi, HttpApiSchema } from "@effect/platform"
import type { ApiError } from "@svc/api/ApiError"
import type { AnyHandler } from "@svc/api/Handlers"
import { ValidationError } from "@svc/api/VoiceError"
import { type Context, type Effect, Either, Option, Schema, SchemaAST } from "effect"
import { ignoredFields } from "./IgnoredFields.ts"
import type { PathParams } from "./RouteTable.ts"
import { orInvalid } from "./ValidationIssues.ts"

/** The parts of a request beside its body. */
export interface RequestParts {
  readonly params: PathParams
  /** The query without its question mark. */
  readonly search: string
  readonly headers: IncomingHttpHeaders
}

/** The decoded parts; only those that the endpoint declares are there. */
export interface DecodedRequest {
  readonly path?: unknown
  readonly urlParams?: unknown
  readonly headers?: unknown
  readonly payload?: unknown
}

/** An endpoint of a contract, ready to serve: its schemas compiled to functions. */
export interface Endpoint {
  /** `agents.list` */
  readonly name: string
  readonly method: string
  readonly path: string
  /** Those of the endpoint, its group and its contract. */
  readonly annotations: Context.Context<never>
  /** Whether the request's body is read. */
  readonly takesBody: boolean
  /** Status of a success. */
  readonly status: number
  /** Whether a success has no body. */
  readonly empty: boolean
  /** Decodes all but the body. */
  readonly decode: (parts: RequestParts) => Either.Either<DecodedRequest, ValidationError>
  readonly decodeBody: (body: unknown) => Either.Either<unknown, ValidationError>
  /** Names the fields of a body that the contract does not declare: at most 10 paths, fit for a header. */
  readonly ignoredFields: (body: unknown) => ReadonlyArray<string>
  /** Checks a response body, after a round trip through JSON, against the contract, without excess fields. */
  readonly checkSuccess: (body: unknown) => Either.Either<unknown, unknown>
}

/** A handler that can be called: the dispatcher decodes each request by the schemas that gave the handler its type. */
export const callable = <Services>(
  handler: AnyHandler<Services>
): ((request: DecodedRequest) => Effect.Effect<unknown, ApiError, Services>) =>
  // `Handlers.group` accepts only handlers whose request type is what these schemas decode to.
  handler as (request: DecodedRequest) => Effect.Effect<unknown, ApiError, Services>

type Decode = (input: unknown) => Either.Either<unknown, ValidationError>

/** Maximum number of values in a body of which all problems are reported; of a larger one only the first is. */
const maxFullyChecked = 200

/** Whether a value contains more values than that. */
const isLarge = (value: unknown): boolean => {
  const left: Array<unknown> = [value]
  for (let seen = 0; left.length > 0; seen++) {
    if (seen + left.length > maxFullyChecked) return true
    const next = left.pop()
    if (typeof next === "object" && next !== null) {
      const inner = Object.values(next)
      if (inner.length > maxFullyChecked) return true
      left.push(...inner)
    }
  }
  return false
}

const decoder = (schema: Schema.Schema.All): Decode => {
  // The contract's schemas need no services: they describe plain JSON.
  const plain = schema as Schema.Schema<unknown, unknown>
  const toFirst = Schema.decodeUnknownEither(plain)
  const toAll = Schema.decodeUnknownEither(plain, { errors: "all" })
  return (input) => {
    const decoded = toFirst(input)
    return orInvalid(Either.isLeft(decoded) && !isLarge(input) ? toAll(input) : decoded)
  }
}

const optional = (schema: Option.Option<Schema.Schema.All>): Decode | undefined =>
  schema._tag === "None" ? undefined : decoder(schema.value)

/** The parameters that a query's schema declares; others are ignored. */
const declaredNames = (schema: Schema.Schema.All): ReadonlyArray<PropertyKey> =>
  SchemaAST.getPropertySignatures(SchemaAST.encodedAST(schema.ast)).map(({ name }) => name)

/**
 * Decodes a query. NUL, which PostgreSQL takes in no text, is refused in every declared parameter; in a cursor it stays
 * percent-encoded, as in a path, and so is answered as any unknown cursor.
 */
const queryDecoder = (schema: Schema.Schema.All): ((search: string) => Either.Either<unknown, ValidationError>) => {
  const decode = decoder(schema)
  const names = declaredNames(schema).map(String)
  const decodeQuery = (query: Query) =>
    Either.mapLeft(decode(query), ({ details = {} }) => {
      const repeated = names.filter(
        (name) => details[name] === `${name} must be a string` && Array.isArray(query[name])
      )
      const told = repeated.map((name) => [name, `${name} was given ${query[name]?.length} times: give it once`])
      return ValidationError.fields({ ...details, ...Object.fromEntries(told) })
    })
  return (search) => {
    if (!search.includes("%00")) return decodeQuery(queryOf(search))
    const query = queryOf(
      search.replace(/((?:^|&)after=)([^&]*)/g, (_, name, value) => name + value.replaceAll("%00", "%2500"))
    )
    const bad = names.find((name) => [query[name]].flat().some((value) => value?.includes("\0")))
    return bad === undefined
      ? decodeQuery(query)
      : Either.left(ValidationError.field(bad, `${bad} must not contain NUL characters`))
  }
}

/** A query as an object; a parameter that comes several times is an array. */
interface Query {
  readonly [name: string]: string | ReadonlyArray<string>
}

const queryOf = (search: string): Query => {
  const query: Record<string, string | Array<string>> = Object.create(null)
  if (search === "") return query
  for (const [name, value] of new URLSearchParams(search)) {
    const before = query[name]
    if (before === undefined) query[name] = value
    else if (typeof before === "string") query[name] = [before, value]
    else before.push(value)
  }
  return query
}

const hasBody = (method: string): boolean => method === "POST" || method === "PUT" || method === "PATCH"

/** Reports what the dispatcher cannot serve, as one line for the author of the contract. */
const unsupported = (name: string, feature: string): Either.Either<never, string> =>
  Either.left(`${name}: ${feature} is not supported`)

/** The endpoints of a contract by group, or lines that say which ones cannot be served. */
export const endpointsOf = (
  api: HttpApi.HttpApi.Any
): ReadonlyArray<{
  readonly group: string
  readonly key: string
  readonly endpoint: Either.Either<Endpoint, string>
}> => {
  const all: Array<{ group: string; key: string; endpoint: Either.Either<Endpoint, string> }> = []
  // `Any` is the type of every contract; `reflect` asks for the full one and reads only what each has.
  HttpApi.reflect(api as HttpApi.HttpApi.AnyWithProps, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group, mergedAnnotations, payloads, successes }) => {
      const name = `${group.identifier}.${endpoint.name}`
      const make = (): Either.Either<Endpoint, string> => {
        const [status, ...others] = successes.keys()
        if (status === undefined || others.length > 0) return unsupported(name, "anything but one success status")
        const encodings = [...payloads.values()].map(({ encoding }) => encoding.kind)
        if (encodings.some((kind) => kind !== "Json")) return unsupported(name, "a body that is not JSON")
        const decodeBody = optional(endpoint.payloadSchema)
        if (decodeBody !== undefined && !hasBody(endpoint.method)) return unsupported(name, `a ${endpoint.method} body`)
        const path = optional(endpoint.pathSchema)
        const urlParams = Option.getOrUndefined(Option.map(endpoint.urlParamsSchema, queryDecoder))
        const headers = optional(endpoint.headersSchema)
        const success = endpoint.successSchema as Schema.Schema<unknown, unknown>
        return Either.right({
          name,
          method: endpoint.method,
          path: endpoint.path,
          annotations: mergedAnnotations,
          takesBody: decodeBody !== undefined,
          status,
          empty: HttpApiSchema.isVoid(success.ast),
          decode: (parts) => {
            const request: { path?: unknown; urlParams?: unknown; headers?: unknown } = {}
            if (path !== undefined) {
              const decoded = path(parts.params)
              if (Either.isLeft(decoded)) return Either.left(decoded.left)
              request.path = decoded.right
            }
            if (urlParams !== undefined) {
              const decoded = urlParams(parts.search)
              if (Either.isLeft(decoded)) return Either.left(decoded.left)
              request.urlParams = decoded.right
            }
            if (headers !== undefined) {
              const decoded = headers(parts.headers)
              if (Either.isLeft(decoded)) return Either.left(decoded.left)
              request.headers = decoded.right
            }
            return Either.right(request)
          },
          decodeBody: decodeBody ?? Either.right,
          ignoredFields: Option.match(endpoint.payloadSchema, { onNone: () => () => [], onSome: ignoredFields }),
          checkSuccess: Schema.decodeUnknownEither(success, { onExcessProperty: "error" })
        })
      }
      all.push({ group: group.identifier, key: endpoint.name, endpoint: make() })
    }
  })
  return all
}
