import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Host } from "@svc/providers/Host"
import { Effect } from "effect"

/** Which rent each release is to end. Twilio keeps no key of ours for it. */
export interface ReleaseLog {
  /** The SID of the rent of a release; null: there was none; undefined: the key is new. */
  readonly rentOf: (key: string) => string | null | undefined
  /** Written before the rent is ended, so that a repetition does not end a later rent of the number. */
  readonly add: (key: string, rent: string | null) => Effect.Effect<void>
}

/** Keeps the releases in a file of the plugin's folder, and in memory where that cannot be written. */
export const make = (host: Host): Effect.Effect<ReleaseLog> =>
  Effect.sync(() => {
    const file = join(host.folder, "releases.jsonl")
    const rents = new Map<string, string | null>()
    const read = (): void => {
      if (!existsSync(file)) return
      for (const line of readFileSync(file, "utf8").split("\n")) {
        try {
          const [key, rent]: ReadonlyArray<unknown> = JSON.parse(line)
          if (typeof key === "string") rents.set(key, typeof rent === "string" ? rent : null)
        } catch {
          // An empty line, or one that was not written to its end.
        }
      }
    }
    const failed = (error: unknown): void =>
      host.log.warning(`the releases of numbers are not kept over a restart: ${file} cannot be used: ${error}`)
    try {
      read()
    } catch (error) {
      failed(error)
    }
    return {
      rentOf: (key) => rents.get(key),
      add: (key, rent) =>
        Effect.sync(() => {
          rents.set(key, rent)
          try {
            mkdirSync(host.folder, { recursive: true })
            appendFileSync(file, `${JSON.stringify([key, rent])}\n`)
          } catch (error) {
            failed(error)
          }
        })
    }
  })
