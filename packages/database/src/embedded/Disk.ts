import { Data, Effect } from "effect"

/** A file operation that failed, with the system's code (`ENOENT`, `EACCES`, …). */
export class DiskError extends Data.TaggedError("DiskError")<{
  readonly message: string
  readonly code: string
}> {}

/**
 * Runs one operation of node:fs/promises. The launcher needs file owners, `lstat` and exact error codes, which the
 * platform's FileSystem lacks.
 */
export const disk = <A>(operation: () => Promise<A>): Effect.Effect<A, DiskError> =>
  Effect.tryPromise({
    try: operation,
    catch: (error) =>
      new DiskError({
        message: error instanceof Error ? error.message : String(error),
        code: error instanceof Error && "code" in error ? String(error.code) : ""
      })
  })

/** Recovers from the given codes only. */
export const tolerate =
  <B>(codes: ReadonlyArray<string>, otherwise: Effect.Effect<B, DiskError>) =>
  <A>(self: Effect.Effect<A, DiskError>): Effect.Effect<A | B, DiskError> =>
    Effect.catchIf(
      self,
      (error) => codes.includes(error.code),
      () => otherwise
    )
