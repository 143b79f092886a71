import type { Context, Schema } from "effect"
import type { Contract, JsonSchema, Parameter } from "./Contract.ts"

/** An error's schema on the wire. */
export type Wire = Schema.Schema.Any

/** Properties of an endpoint that its schemas do not contain. */
export interface EndpointFacts {
  readonly method: string
  /** With `:name` for its parameters. */
  readonly path: string
  /** Those of the endpoint, its group and its contract. */
  readonly annotations: Context.Context<never>
  readonly takesBody: boolean
}

/** The errors of endpoints that have another shape than those of the other endpoints. */
export interface ErrorVariant {
  /** What the names of their schemas and examples begin with. */
  readonly prefix: string
  /** The schemas that they need. */
  readonly parts: ReadonlyArray<Wire>
  readonly schemaOf: (error: JsonSchema) => JsonSchema
  readonly example: (code: string, message: string, status: number) => unknown
}

/** What the server does for every endpoint of an API, beside what the endpoint itself declares. */
export interface Conventions {
  /** Every header that answers may have. */
  readonly headers: NonNullable<Contract["components"]["headers"]>
  /** The names of the headers that an answer of this status has. */
  readonly headersOf: (status: number, endpoint: EndpointFacts) => ReadonlyArray<string>
  /** The parameters that requests take beside the endpoint's own. */
  readonly parametersOf: (endpoint: EndpointFacts) => ReadonlyArray<Parameter>
  /** A text to add to an endpoint's description. */
  readonly remarkOf: (endpoint: EndpointFacts) => string | undefined
  /** The errors that the server's own checks add to an endpoint's, in the order of the checks. */
  readonly checksOf: (endpoint: EndpointFacts) => ReadonlyArray<Wire>
  /** The code of an error's schema; undefined when the schema is for any code, or not an error. */
  readonly codeOf: (schema: JsonSchema) => string | undefined
  /** How the errors of an endpoint differ from the others; undefined when they do not. */
  readonly variantOf: (endpoint: EndpointFacts) => ErrorVariant | undefined
  /** The body of an error. */
  readonly errorExample: (code: string, message: string) => unknown
}
