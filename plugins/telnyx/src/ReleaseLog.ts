import { createHash } from "node:crypto"
import { mkdir, readFile, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"

/** Which rent each release is to end, in files of this server: Telnyx keeps no key of ours for it. */
export interface ReleaseLog {
  /** Telnyx's id of the rent of a release; null: there was none; undefined: the key is new. */
  readonly rentOf: (key: string) => Effect.Effect<string | null | undefined>
  /**
   * Written before the rent is ended, so that a repetition does not end a later rent of the number. Never fails: without
   * the file the release is known until the server stops.
   */
  readonly add: (key: string, rent: string | null) => Effect.Effect<void>
}

export const make = (folder: string): ReleaseLog => {
  const known = new Map<string, string | null>()
  const pathOf = (key: string): string => join(folder, createHash("sha256").update(key).digest("hex"))
  return {
    rentOf: (key) => {
      const rent = known.get(key)
      if (rent !== undefined) return Effect.succeed(rent)
      return Effect.tryPromise(() => readFile(pathOf(key), "utf8")).pipe(
        // An empty file: there was no rent.
        Effect.map((id) => (id === "" ? null : id)),
        Effect.orElseSucceed(() => undefined)
      )
    },
    add: (key, rent) =>
      Effect.zipRight(
        Effect.sync(() => void known.set(key, rent)),
        Effect.tryPromise(() => mkdir(folder, { recursive: true })).pipe(
          // A server that dies meanwhile must not leave an empty file.
          Effect.zipRight(Effect.tryPromise(() => writeFile(`${pathOf(key)}.new`, rent ?? ""))),
          Effect.zipRight(Effect.tryPromise(() => rename(`${pathOf(key)}.new`, pathOf(key)))),
          Effect.catchAll(({ error }) =>
            Effect.logWarning(`The release of a number could not be noted in ${folder}: ${String(error)}`)
          )
        )
      )
  }
}
