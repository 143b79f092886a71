import { createHash } from "node:crypto"
import { mkdir, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"

/**
 * Orders that were carried out, by their keys, in files of this server, for operations whose keys the carrier does not
 * keep.
 */
export interface DoneKeys {
  readonly has: (key: string) => Effect.Effect<boolean>
  /** Never fails: without the file the order is only carried out again. */
  readonly add: (key: string) => Effect.Effect<void>
}

export const make = (folder: string): DoneKeys => {
  const known = new Set<string>()
  const pathOf = (key: string): string => join(folder, createHash("sha256").update(key).digest("hex"))
  return {
    has: (key) =>
      known.has(key)
        ? Effect.succeed(true)
        : Effect.tryPromise(() => stat(pathOf(key))).pipe(
            Effect.as(true),
            Effect.orElseSucceed(() => false)
          ),
    add: (key) =>
      Effect.zipRight(
        Effect.sync(() => void known.add(key)),
        Effect.zipRight(
          Effect.tryPromise(() => mkdir(folder, { recursive: true })),
          Effect.tryPromise(() => writeFile(pathOf(key), ""))
        ).pipe(
          Effect.catchAll(({ error }) =>
            Effect.logWarning(`An order that was carried out could not be noted in ${folder}: ${String(error)}`)
          )
        )
      )
  }
}
