import { canonicalJson } from "@svc/api/CanonicalJson"
import type { Command } from "@svc/conversation/Command"
import type { Facts, Input } from "@svc/conversation/Input"
import { digest, type Replayed } from "@svc/conversation/Replay"
import type { Journal } from "./Journal.ts"

/** A step at which this version gives other commands than the call had. */
export interface Difference {
  readonly seq: number
  /** Milliseconds from the start of the call, and ISO 8601. */
  readonly at: number
  readonly time: string
  readonly input: Facts | Input
  /** `commands` null: only the digest is known. */
  readonly recorded: { readonly digest: string; readonly commands: ReadonlyArray<Command> | null }
  readonly now: { readonly digest: string; readonly commands: ReadonlyArray<Command> }
}

/** The document of `svc replay --json`. */
export interface ReplayReport {
  /** Whether this version acts as the call did. */
  readonly ok: boolean
  readonly call_id: string
  /** Of a saved journal: who saved it, and when. */
  readonly saved: Journal["saved"]
  /** False: the call was live, and its journal goes on. */
  readonly ended: boolean | null
  readonly steps: number
  /** How the call ends now; null: the journal ends before the call. */
  readonly outcome: Replayed["state"]["outcome"]
  readonly differences: ReadonlyArray<Difference>
}

/** Compares a replay with its journal. */
export const reportOf = (journal: Journal, { differing, state, steps }: Replayed): ReplayReport => {
  const recorded = new Map(journal.rows.map(({ commands, seq }) => [seq, commands]))
  const differs = new Set(differing)
  const { started_at } = state.facts
  return {
    ok: differing.length === 0,
    call_id: journal.call_id,
    saved: journal.saved,
    ended: journal.ended,
    steps: steps.length,
    outcome: state.outcome,
    differences: steps
      .filter(({ seq }) => differs.has(seq))
      .map(({ commands, input, seq }): Difference => {
        const at = input._tag === "Facts" ? 0 : input.at
        return {
          seq,
          at,
          time: new Date(started_at + at).toISOString(),
          input,
          recorded: { digest: recorded.get(seq) ?? "", commands: journal.recorded.get(seq) ?? null },
          now: { digest: digest(commands), commands }
        }
      })
  }
}

/** How many differences people are shown, and how many characters of each input and command. */
const maxShown = 20
const maxCharacters = 240

/** A point in the call: `1:02.480`. */
const clock = (at: number): string => {
  const seconds = Math.max(0, at) / 1000
  return `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(3).padStart(6, "0")}`
}

const short = (text: string): string => (text.length > maxCharacters ? `${text.slice(0, maxCharacters)} …` : text)

/** The tag, and the other fields as JSON. */
const inLine = ({ _tag, ...fields }: { readonly _tag: string }): string => {
  const json = JSON.stringify(fields)
  return json === "{}" ? _tag : `${_tag} ${short(json)}`
}

const withoutTime = (input: Facts | Input): { readonly _tag: string } => {
  if (input._tag === "Facts") return { _tag: "Facts" }
  const { at: _, ...rest } = input
  return rest
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** The longest common part stays; `-` was recorded, `+` is new. */
const compared = (before: ReadonlyArray<Command>, now: ReadonlyArray<Command>): ReadonlyArray<string> => {
  const a = before.map((command) => canonicalJson(command))
  const b = now.map((command) => canonicalJson(command))
  // lengths[i][j]: of the longest common subsequence of a from i and b from j.
  const lengths = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0))
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const row = lengths[i]
      if (row !== undefined) row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const lines: Array<string> = []
  let i = 0
  let j = 0
  while (i < before.length || j < now.length) {
    const old = before[i]
    const next = now[j]
    if (old !== undefined && next !== undefined && a[i] === b[j]) {
      lines.push(`    ${inLine(next)}`)
      i++
      j++
    } else if (old !== undefined && (next === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(`  - ${inLine(old)}`)
      i++
    } else if (next !== undefined) {
      lines.push(`  + ${inLine(next)}`)
      j++
    }
  }
  return lines
}

const commandLines = ({ now, recorded }: Difference): ReadonlyArray<string> => {
  if (recorded.commands !== null) return compared(recorded.commands, now.commands)
  if (recorded.digest === "") return compared([], now.commands)
  const unknown = `  - commands with the digest ${recorded.digest}`
  return [unknown, ...(now.commands.length === 0 ? ["  + nothing"] : now.commands.map((c) => `  + ${inLine(c)}`))]
}

/** The report for people. */
export const textOf = (report: ReplayReport): string => {
  const { call_id, differences, ended, outcome, saved, steps } = report
  const end =
    outcome === null
      ? ended === false
        ? `the ${call_id.startsWith("ts_") ? "test session" : "call"} was live`
        : "the journal ends before the call"
      : [outcome.status, outcome.disposition, outcome.ended_reason].filter((part) => part !== null).join(", ")
  const from = saved === null ? "" : `, saved by version ${saved.version} at ${saved.at}`
  const head = `${call_id}: ${counted(steps, "step")}, ${end}${from}`
  const [first] = differences
  if (first === undefined) return `${head}\nThis version gives the recorded commands at every step.`
  const shown = differences.slice(0, maxShown)
  return [
    head,
    `This version gives other commands at ${counted(differences.length, "step")}, first at seq ${first.seq}.` +
      (differences.length > 1 ? " Later differences may follow from the first." : ""),
    ...shown.flatMap((difference) => [
      "",
      `seq ${difference.seq}  ${clock(difference.at)}  ${inLine(withoutTime(difference.input))}`,
      ...commandLines(difference)
    ]),
    ...(differences.length > shown.length
      ? ["", `${counted(differences.length - shown.length, "more difference")}: --json shows all`]
      : [])
  ].join("\n")
}
