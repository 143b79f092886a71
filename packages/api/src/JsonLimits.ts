import { Data, Effect, Either } from "effect"

/**
 * Limits of JSON from outside, checked on its bytes before it is parsed: parsing, cleaning and decoding take time for
 * each value and level, and hold the thread that paces the calls. See docs/reference/conventions.md.
 */

/** Deepest nesting of arrays and objects. */
export const maxJsonDepth = 100

/** The most values: texts, numbers, booleans, nulls, arrays and objects. */
export const maxJsonValues = 10_000

/** The most fields of all objects together, which cost more than other values. */
export const maxJsonFields = 5_000

const [quote, backslash, comma, colon, openBracket, closeBracket, openBrace, closeBrace] = [
  0x22, 0x5c, 0x2c, 0x3a, 0x5b, 0x5d, 0x7b, 0x7d
] as const

/** Counts the values of a JSON text in UTF-8 that comes in pieces. Reads each byte once. */
class JsonCounter {
  #depth = 0
  // Each comma separates two values, and each bracket may begin the first one inside.
  #values = 1
  #fields = 0
  #inString = false
  /** Whether the next piece begins with an escaped character. */
  #escaped = false

  /**
   * Counts a piece. Returns the limit that the text exceeds, as the end of a sentence that begins with the name of the
   * text, and stops there; undefined when it keeps all so far. Says nothing about text that is not JSON.
   */
  excess(piece: Uint8Array): string | undefined {
    // Fields of an object are slower in the loop than variables.
    let depth = this.#depth
    let values = this.#values
    let fields = this.#fields
    let inString = this.#inString
    let at = this.#escaped ? 1 : 0
    for (; at < piece.length; at++) {
      const byte = piece[at]
      if (inString) {
        if (byte === backslash) at++
        else if (byte === quote) inString = false
      } else if (byte === quote) inString = true
      else if (byte === comma) values++
      else if (byte === colon) fields++
      else if (byte === openBracket || byte === openBrace) {
        values++
        if (++depth > maxJsonDepth) return `is nested more than ${maxJsonDepth} levels deep`
      } else if (byte === closeBracket || byte === closeBrace) depth--
      if (values > maxJsonValues) return `has more than ${maxJsonValues} values`
      if (fields > maxJsonFields) return `has more than ${maxJsonFields} fields`
    }
    this.#depth = depth
    this.#values = values
    this.#fields = fields
    this.#inString = inString
    this.#escaped = at > piece.length
    return undefined
  }
}

/** A text that is not JSON, or is over a limit: `excess` is the end of a sentence that begins with its name. */
export class UnusableJson extends Data.TaggedError("UnusableJson")<{ readonly excess: string | undefined }> {}

/**
 * Lets the timers and I/O that are due run, the media clock among them, before the fiber goes on. `Effect.yieldNow` lets
 * only other fibers run.
 */
export const yieldThread: Effect.Effect<void> = Effect.async<void>((resume) => {
  // Timers run before the second one: the first may run right after the I/O event that is being handled.
  let next = setImmediate(() => {
    next = setImmediate(() => resume(Effect.void))
  })
  return Effect.sync(() => clearImmediate(next))
})

/** The most bytes that are counted and decoded at a time: about 1 ms. */
const pieceBytes = 128 * 1024
/** The most bytes of which all values are parsed and used without a pause between. */
const smallBytes = 16 * 1024

const byteOrderMark = Buffer.of(0xef, 0xbb, 0xbf)
const decoders = {
  /** Fails on bytes that are not UTF-8. */
  strict: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }),
  /** Replaces them by U+FFFD. */
  lenient: new TextDecoder("utf-8", { ignoreBOM: true })
} as const

/** The last place at or before `end` where no character is cut. */
const boundaryBefore = (bytes: Uint8Array, end: number): number => {
  for (let at = end; at > end - 4; at--) if (((bytes[at] ?? 0) & 0xc0) !== 0x80) return at
  return end
}

/**
 * Parses JSON from outside within the limits. Large text is read in steps, with {@link yieldThread} between them and
 * before the result is used.
 */
export const readJson = Effect.fnUntraced(function* (bytes: Uint8Array, encoding: keyof typeof decoders) {
  const decoder = decoders[encoding]
  const counter = new JsonCounter()
  let text = ""
  let from = byteOrderMark.equals(bytes.subarray(0, 3)) ? 3 : 0
  while (from < bytes.length) {
    const to = bytes.length - from <= pieceBytes ? bytes.length : boundaryBefore(bytes, from + pieceBytes)
    const piece = bytes.subarray(from, to)
    const excess = counter.excess(piece)
    if (excess !== undefined) return yield* new UnusableJson({ excess })
    text += yield* orNoJson(() => decoder.decode(piece))
    from = to
    if (bytes.length > pieceBytes) yield* yieldThread
  }
  const value = yield* orNoJson((): unknown => JSON.parse(text))
  if (bytes.length > smallBytes) yield* yieldThread
  return value
})

const orNoJson = <A>(work: () => A): Either.Either<A, UnusableJson> =>
  Either.try({ try: work, catch: () => new UnusableJson({ excess: undefined }) })
