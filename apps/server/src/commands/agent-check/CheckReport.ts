import { hintOf } from "@svc/conversation/answers/ServerFault"
import type { Check } from "./Check.ts"

/** The end of the report. */
interface Summary {
  readonly ok: boolean
  readonly faults: number
  readonly warnings: number
}

const line = (mark: string, check: string, text: string): string => `${mark.padEnd(4)}  ${check.padEnd(18)} ${text}`

const named = (field: string | null, reason: string): string =>
  field === null || field === "" ? reason : `${field}: ${reason}`

const forDevelopment =
  "If your server is meant to run on this machine or network, and Svc runs with --dev, give --dev here too."

/** A check as lines of text: what was found, then what is wrong, then advice. */
export const linesOf = (
  { check, checked, detail, failure, faults, ok, warnings }: Check,
  dev: boolean
): ReadonlyArray<string> => {
  const mark = !ok ? "FAIL" : checked ? "ok" : "skip"
  const says = warnings.length === 0 || (check !== "signature" && check !== "timestamp")
  const blocked = failure !== null && failure.hint === hintOf(failure.stage, "blocked") && !dev
  return [
    ...(says ? [line(mark, check, detail)] : []),
    ...(failure === null ? [] : [line("", "", failure.reason), line("", "", failure.hint)]),
    ...(blocked ? [line("", "", forDevelopment)] : []),
    ...faults.map(({ field, reason }) =>
      line("FAIL", check, `${named(field, reason)}${check === "tool.call" ? "" : ": left out"}`)
    ),
    ...warnings.map(({ field, reason }) => line("warn", check, named(field, reason)))
  ]
}

/** `strict`: warnings count as faults. */
export const summaryOf = (checks: ReadonlyArray<Check>, strict: boolean): Summary => {
  const count = (of: (check: Check) => number): number => checks.reduce((sum, check) => sum + of(check), 0)
  const faults = count(({ failure, faults }) => faults.length + (failure === null ? 0 : 1))
  const warnings = count(({ warnings }) => warnings.length)
  return { ok: faults === 0 && (!strict || warnings === 0), faults, warnings }
}

const counted = (count: number, word: string): string => (count === 1 ? `1 ${word}` : `${count || "no"} ${word}s`)

/** The summary in one line. */
export const lineOf = ({ faults, warnings }: Summary): string =>
  `${counted(faults, "fault")}, ${counted(warnings, "warning")}`
