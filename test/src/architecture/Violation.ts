/** A violation of a rule. `line` counts from 1. */
export interface Violation {
  readonly file: string
  readonly line: number
  readonly rule: string
  readonly message: string
}

/** One line per violation, `packages/auth/src/Keys.ts:3 [import table] …`, sorted by file and line. */
export const report = (violations: ReadonlyArray<Violation>): ReadonlyArray<string> =>
  violations
    .toSorted((a, b) => a.file.localeCompare(b.file) || a.line - b.line || a.message.localeCompare(b.message))
    .map(({ file, line, rule, message }) => `${file}:${line} [${rule}] ${message}`)
