import { createHash } from "node:crypto"
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { KeyLocks } from "./KeyLocks.ts"

/**
 * The calls that are connected, in files of this server, so that a server that was killed can hang them up when it starts
 * again: their callers hear nothing, and Telnyx would not end them. Never fails: without the files they are not hung up.
 */
export interface CallFiles {
  readonly add: (callControlId: string) => Effect.Effect<void>
  readonly remove: (callControlId: string) => Effect.Effect<void>
  /** The calls of a server that was killed. */
  readonly left: Effect.Effect<ReadonlyArray<string>>
}

export const make = (folder: string): CallFiles => {
  const locks = new KeyLocks()
  const pathOf = (id: string): string => join(folder, createHash("sha256").update(id).digest("hex"))
  let hasFailed = false
  const logged = (effect: Effect.Effect<unknown, { readonly error: unknown }>): Effect.Effect<void> =>
    Effect.catchAll(Effect.asVoid(effect), ({ error }) => {
      if (hasFailed) return Effect.void
      hasFailed = true
      return Effect.logWarning(`The calls of this server cannot be noted in ${folder}: ${String(error)}`)
    })
  return {
    add: (id) =>
      logged(
        Effect.zipRight(
          Effect.tryPromise(() => mkdir(folder, { recursive: true })),
          Effect.tryPromise(() => writeFile(pathOf(id), id))
        )
      ).pipe(locks.within(id)),
    remove: (id) => logged(Effect.tryPromise(() => rm(pathOf(id), { force: true }))).pipe(locks.within(id)),
    left: Effect.tryPromise(() => readdir(folder)).pipe(
      Effect.flatMap((names) =>
        Effect.forEach(names, (name) => Effect.tryPromise(() => readFile(join(folder, name), "utf8")))
      ),
      Effect.map((ids) => ids.filter((id) => id !== "")),
      Effect.orElseSucceed(() => [])
    )
  }
}
