import { Clock, Effect } from "effect"
import { RequestFailed, type RequestFailures } from "./RequestFailed.ts"

/** Characters of an error that are read. */
const longestError = 65_536

/** The JSON of a small answer to a GET, such as a list of voices. Redirects are not followed, because they get the key. */
export const getJson = (options: {
  readonly url: string | URL
  readonly headers: Readonly<Record<string, string>>
  readonly failures: RequestFailures
}): Effect.Effect<unknown, RequestFailed> =>
  Effect.gen(function* () {
    const { failures, headers, url } = options
    // The reason of a failed fetch is the cause of its error.
    const failed = (error: unknown) => failures.ofConnection(Object(error).cause ?? error)
    const response = yield* Effect.tryPromise({
      try: (signal) => fetch(url, { headers: { ...headers }, redirect: "manual", signal }),
      catch: failed
    })
    const body = yield* Effect.tryPromise({ try: () => response.text(), catch: failed })
    if (!response.ok) {
      return yield* failures.ofStatus({
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: body.slice(0, longestError),
        now: yield* Clock.currentTimeMillis
      })
    }
    failures.accepted()
    return yield* Effect.try({
      try: (): unknown => JSON.parse(body),
      catch: () => new RequestFailed({ reason: `${new URL(url).origin} answered with no JSON`, retryable: true })
    })
  })
