import { Effect } from "effect"
import type { Host, LinkState, LogFields } from "../Host.ts"

/** An entry that a plugin has written to the log. */
export interface LoggedEntry {
  readonly level: "debug" | "info" | "warning" | "error"
  readonly message: string
  readonly fields: LogFields
}

/** A host for tests of a plugin, and what the plugin did with it. */
export interface HostDouble {
  readonly host: Host
  /** In the order in which they were written. */
  readonly logged: ReadonlyArray<LoggedEntry>
  /** What the counter of this name has counted, with all tags together. */
  readonly counted: (name: string) => number
  /** What the histogram of this name has recorded, with all tags together. */
  readonly recorded: (name: string) => ReadonlyArray<number>
  /** Call links by their tokens; others are `closed`. */
  readonly links: Map<string, LinkState>
  /** How many calls can start with an open link, by its token; absent: 1000. */
  readonly callsLeft: Map<string, number>
  /** Detectors that are not closed. */
  readonly openDetectors: () => number
}

/** The mean square of a frame from which the double's detector reports speech: about -46 dBFS. */
const loud = 25_000

/** Where nothing can be written, not even by root. */
const noFolder = "/dev/null/folder"

/** Samples between two that are given, by linear interpolation, with the time that was already used. */
const interpolated = (from: number, to: number) => {
  let last = 0
  let at = 0
  return (samples: Int16Array): Int16Array => {
    const output: Array<number> = []
    for (const next of samples) {
      for (; at < 1; at += from / to) output.push(Math.round(last + (next - last) * at))
      at -= 1
      last = next
    }
    return Int16Array.from(output)
  }
}

/**
 * A host in memory; give it a `folder` for a plugin that has files. Tokens are valid for it only, and expire by Effect's `Clock`, also a test's. The detector goes by loudness and
 * the resampler interpolates: enough to see that a plugin uses them, not how well it would hear.
 */
export const makeHostDouble = (
  options: { readonly baseUrl?: string; readonly folder?: string } = {}
): Effect.Effect<HostDouble> =>
  Effect.map(Effect.clock, (clock) => {
    const logged: Array<LoggedEntry> = []
    const counts = new Map<string, number>()
    const records = new Map<string, Array<number>>()
    const tokens = new Map<string, { readonly json: string; readonly expires: number }>()
    const links = new Map<string, LinkState>()
    const callsLeft = new Map<string, number>()
    let detectors = 0
    const entry =
      (level: LoggedEntry["level"]) =>
      (message: string, fields: LogFields = {}) =>
        void logged.push({ level, message, fields })

    const host: Host = {
      baseUrl: options.baseUrl ?? null,
      folder: options.folder ?? noFolder,
      log: { debug: entry("debug"), info: entry("info"), warning: entry("warning"), error: entry("error") },
      metrics: {
        counter: (name) => ({ add: (by = 1) => void counts.set(name, (counts.get(name) ?? 0) + by) }),
        histogram: (name) => {
          const values = records.get(name) ?? []
          records.set(name, values)
          return { record: (value) => void values.push(value) }
        }
      },
      sign: (payload, expiresInSeconds) => {
        const json: unknown = JSON.stringify(payload)
        if (typeof json !== "string") throw new TypeError("the payload of a token must be a value of JSON")
        const token = `token-${tokens.size + 1}`
        tokens.set(token, { json, expires: clock.unsafeCurrentTimeMillis() + expiresInSeconds * 1000 })
        return token
      },
      verify: (token) => {
        const known = tokens.get(token)
        return known === undefined || known.expires <= clock.unsafeCurrentTimeMillis()
          ? undefined
          : JSON.parse(known.json)
      },
      linkState: (token) => Effect.sync(() => links.get(token) ?? "closed"),
      callsLeft: (token) => Effect.sync(() => (links.get(token) === "open" ? (callsLeft.get(token) ?? 1000) : 0)),
      makeVoiceActivity: () => {
        detectors++
        return {
          push: (frame) =>
            frame.reduce((sum, sample) => sum + sample * sample, 0) > loud * frame.length ? "speech" : "silence",
          close: () => void detectors--
        }
      },
      makeResampler: (from, to) => ({ push: interpolated(from, to), end: () => new Int16Array(0) })
    }
    return {
      host,
      logged,
      counted: (name) => counts.get(name) ?? 0,
      recorded: (name) => records.get(name) ?? [],
      links,
      callsLeft,
      openDetectors: () => detectors
    }
  })
