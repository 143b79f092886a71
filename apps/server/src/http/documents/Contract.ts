/** The parts of JSON Schema that our contracts are described with. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly description?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly format?: string
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: JsonSchema
  readonly properties?: { readonly [name: string]: JsonSchema }
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: boolean | JsonSchema
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly oneOf?: ReadonlyArray<JsonSchema>
  readonly allOf?: ReadonlyArray<JsonSchema>
  readonly examples?: ReadonlyArray<unknown>
  readonly default?: unknown
}

export interface Parameter {
  readonly name: string
  readonly in: "query" | "path" | "header"
  readonly required: boolean
  readonly description?: string
  readonly schema: JsonSchema
  readonly example?: unknown
}

interface Referenced {
  readonly $ref: string
}

export interface Body {
  readonly schema: JsonSchema
  readonly example?: unknown
  /** By error code. */
  readonly examples?: { readonly [code: string]: Referenced }
}

export interface Response {
  readonly description: string
  readonly headers?: { readonly [name: string]: Referenced }
  readonly content?: {
    readonly "application/json": Body
    /** The schema is that of one event's data. */
    readonly "text/event-stream"?: Body
  }
}

export interface Operation {
  readonly operationId: string
  readonly tags: ReadonlyArray<string>
  readonly summary?: string
  readonly description?: string
  readonly security: ReadonlyArray<{ readonly [scheme: string]: ReadonlyArray<string> }>
  readonly parameters: ReadonlyArray<Parameter>
  readonly requestBody?: { readonly required: boolean; readonly content: { readonly "application/json": Body } }
  readonly responses: { readonly [status: string]: Response }
  /** An extension of the format, which Scalar and Redoc show. */
  readonly "x-codeSamples"?: ReadonlyArray<{ readonly lang: string; readonly label: string; readonly source: string }>
}

/** The parts of an OpenAPI 3.1 document that ours use. */
export interface Contract {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly servers?: ReadonlyArray<{ readonly url: string }>
  readonly security: Operation["security"]
  readonly tags: ReadonlyArray<{ readonly name: string; readonly description?: string }>
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: {
    readonly schemas: { readonly [name: string]: JsonSchema }
    readonly examples?: { readonly [name: string]: { readonly summary: string; readonly value: unknown } }
    readonly headers?: { readonly [name: string]: { readonly description: string; readonly schema: JsonSchema } }
    readonly securitySchemes: { readonly [name: string]: unknown }
  }
}
