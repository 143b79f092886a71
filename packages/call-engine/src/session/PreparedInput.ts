import { canonicalJson, jsonText } from "@svc/api/CanonicalJson"
import { yieldThread } from "@svc/api/JsonLimits"
import { Effect } from "effect"
import { sizeOf } from "../record/LiveCallBatch.ts"
import { wellFormedPart } from "./WellFormed.ts"

/** The largest part of an input that is fed without preparation, in characters. */
const smallCharacters = 16 * 1024

/** Whether a part of an input is to be prepared. */
export const isLarge = (part: unknown): boolean => sizeOf(part) > smallCharacters

/**
 * Prepares a part of an input that may be large: cleans it and writes its text for the journal's digest, each in its own
 * turn of the event loop, so that feeding the input takes little time. `level`: how deep in the input the part is.
 */
export const preparedPart = <A>(part: A, level: number): Effect.Effect<A> =>
  Effect.suspend(() =>
    !isLarge(part)
      ? Effect.succeed(part)
      : Effect.gen(function* () {
          yield* yieldThread
          const clean = wellFormedPart(part, level)
          yield* yieldThread
          canonicalJson(clean)
          yield* yieldThread
          return clean
        })
  )

/** Prepares the result of a tool, and writes its text for the language model. */
export const preparedResult = (result: unknown): Effect.Effect<unknown> =>
  Effect.tap(preparedPart(result, 1), (clean) =>
    isLarge(clean)
      ? Effect.zipRight(
          Effect.sync(() => jsonText(clean)),
          yieldThread
        )
      : Effect.void
  )
