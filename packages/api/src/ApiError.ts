import { Data } from "effect"

/**
 * What the errors of both APIs have in common: a service fails with one, and the HTTP layer sends it in its API's
 * shape.
 */
export interface ApiError {
  readonly _tag: string
  readonly code: string
  readonly status: number
  readonly message: string
  /** Field path (dotted) → message; with VALIDATION_ERROR. */
  readonly details?: { readonly [field: string]: string } | undefined
  /** Whole seconds; with every 429. */
  readonly retryAfter?: number | undefined
}

/** Optional parts of an error: another message than the default, field messages, seconds to wait. */
export interface ApiErrorOptions {
  readonly message?: string
  readonly details?: { readonly [field: string]: string }
  readonly retryAfter?: number
}

/** The class that {@link defineAs} returns. `wire` goes to `HttpApiEndpoint.addError`. */
export interface ApiErrorClass<Tag extends string, Code extends string, Wire> {
  new (
    options?: ApiErrorOptions
  ): ApiError & { readonly _tag: Tag; readonly code: Code } & InstanceType<ReturnType<typeof Data.TaggedError<Tag>>>
  readonly wire: Wire
}

/** Defines an error; `wire` is its schema on the wire. Each API has its own short form of this, `define`. */
export const defineAs = <const Tag extends string, const Code extends string, Wire>(
  tag: Tag,
  code: Code,
  status: number,
  defaultMessage: string,
  wire: Wire
): ApiErrorClass<Tag, Code, Wire> => {
  class Defined extends Data.TaggedError(tag)<{
    readonly message: string
    readonly details?: { readonly [field: string]: string } | undefined
    readonly retryAfter?: number | undefined
  }> {
    static readonly wire = wire
    readonly code = code
    readonly status = status
    constructor(options: ApiErrorOptions = {}) {
      super({ ...options, message: options.message ?? defaultMessage })
    }
  }
  // The generic base's instance type is not nameable; the interface above states exactly what it is.
  return Defined as unknown as ApiErrorClass<Tag, Code, Wire>
}

/** Whether a failure is an error of one of the APIs. */
export const isApiError = (u: unknown): u is ApiError =>
  typeof u === "object" &&
  u !== null &&
  "code" in u &&
  "status" in u &&
  "message" in u &&
  "_tag" in u &&
  typeof u.status === "number"
