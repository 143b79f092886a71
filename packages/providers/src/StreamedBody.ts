import type { Readable } from "node:stream"
import { Effect } from "effect"

const ignoreError = () => {}

/**
 * Reads the body of an HTTP answer on demand: the next bytes; null at the end, where `onEnd` is called. `failed` turns an
 * error of the connection into a typed one.
 */
export const streamedBody = <E>(options: {
  readonly body: Readable
  readonly failed: (error: unknown) => E
  readonly onEnd?: () => void
}): Effect.Effect<Buffer | null, E> => {
  const { body, failed, onEnd } = options
  // Without a listener an error between two reads would end the process; the next read fails with it.
  body.on("error", ignoreError)
  const chunks: AsyncIterator<Buffer> = body[Symbol.asyncIterator]()
  return Effect.tryPromise({ try: () => chunks.next(), catch: failed }).pipe(
    Effect.map(({ done, value }): Buffer | null => {
      if (done !== true) return value
      onEnd?.()
      return null
    })
  )
}

/** The whole text of a body, UTF-8. Fails with `tooLong` when it has more than `largest` bytes. */
export const wholeText = <E>(
  next: Effect.Effect<Buffer | null, E>,
  largest: number,
  tooLong: () => E
): Effect.Effect<string, E> =>
  Effect.gen(function* () {
    const chunks: Array<Buffer> = []
    let length = 0
    for (let chunk = yield* next; chunk !== null; chunk = yield* next) {
      length += chunk.length
      if (length > largest) return yield* Effect.fail(tooLong())
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString("utf8")
  })
