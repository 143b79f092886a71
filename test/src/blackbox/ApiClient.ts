import { Effect, Redacted } from "effect"
import { defaultTimeout } from "./Inbox.ts"

/** A JSON object of unknown content. */
export interface JsonRecord {
  readonly [name: string]: unknown
}

/** An HTTP answer. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  /** The body as JSON; an empty object if it is not JSON. */
  readonly body: JsonRecord
  readonly text: string
}

export interface RequestOptions {
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent unchanged, in place of `json`. */
  readonly raw?: string
  readonly headers?: { readonly [name: string]: string }
}

/** A client of the voice API with one key. */
export interface ApiClient {
  readonly request: (method: string, path: string, options?: RequestOptions) => Effect.Effect<Reply>
  readonly get: (path: string) => Effect.Effect<Reply>
  readonly post: (path: string, json?: unknown) => Effect.Effect<Reply>
  readonly patch: (path: string, json: unknown) => Effect.Effect<Reply>
}

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const parse = (text: string): JsonRecord => {
  try {
    const json: unknown = JSON.parse(text)
    return isRecord(json) ? json : {}
  } catch {
    return {}
  }
}

/** The value at a dotted path, as `agent.public_id` or `calls.0.call_id`. */
export const at = (value: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((inside, key) => {
    if (Array.isArray(inside)) return inside[Number(key)]
    return isRecord(inside) ? inside[key] : undefined
  }, value)

/** The same where it must be a text or number; otherwise the test fails with the value. */
export const textAt = (value: unknown, path: string): string => {
  const found = at(value, path)
  if (typeof found === "string" || typeof found === "number") return String(found)
  throw new Error(`no text at ${path} of ${JSON.stringify(value)}`)
}

/** A request without a key. */
export const call = (
  url: string,
  method: string,
  { headers = {}, json, raw }: RequestOptions = {}
): Effect.Effect<Reply> => {
  const body = raw ?? (json === undefined ? undefined : JSON.stringify(json))
  const typed = body === undefined || "content-type" in headers ? {} : { "content-type": "application/json" }
  return Effect.tryPromise((signal) =>
    fetch(url, {
      method,
      headers: { ...typed, ...headers },
      redirect: "manual",
      signal,
      ...(body === undefined ? {} : { body })
    }).then((response) =>
      response.text().then((text) => ({ status: response.status, headers: response.headers, text, body: parse(text) }))
    )
  ).pipe(
    Effect.mapError(({ error }) => new Error(`${method} ${url} failed: ${error}`, { cause: error })),
    Effect.timeoutFail({ duration: defaultTimeout, onTimeout: () => new Error(`${method} ${url} was not answered`) }),
    Effect.orDie
  )
}

/** A client that sends the key as a bearer token. */
export const make = (
  url: string,
  key: Redacted.Redacted,
  always: { readonly [name: string]: string } = {}
): ApiClient => {
  const request = (method: string, path: string, options: RequestOptions = {}) =>
    call(`${url}${path}`, method, {
      ...options,
      headers: { authorization: `Bearer ${Redacted.value(key)}`, ...always, ...options.headers }
    })
  return {
    request,
    get: (path) => request("GET", path),
    post: (path, json) => request("POST", path, json === undefined ? {} : { json }),
    patch: (path, json) => request("PATCH", path, { json })
  }
}
