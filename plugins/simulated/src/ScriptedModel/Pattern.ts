import { createContext, Script } from "node:vm"

/** A pattern took too long on an input; it is not tried again. */
export class SlowPattern extends Error {
  readonly pattern: string
  constructor(pattern: string) {
    super(`the pattern ${JSON.stringify(pattern)} in the script takes too long; make it simpler`)
    this.pattern = pattern
  }
}

/** Longest time for one match, in milliseconds; it is far above any sensible pattern, because a busy machine may pause us. */
const longestMs = 250

/** Longer inputs are always watched. */
const longInput = 1000

const most = 1000
const compiled = new Map<string, RegExp>()
const slow = new Set<string>()

const compile = (source: string, flags: string): RegExp => {
  const key = `${flags}/${source}`
  const known = compiled.get(key)
  if (known !== undefined) return known
  if (compiled.size >= most) compiled.clear()
  const made = new RegExp(source, flags)
  compiled.set(key, made)
  return made
}

const count = (source: string, what: RegExp): number => source.match(what)?.length ?? 0

/**
 * Whether matching may take more than quadratic time: a repeated group, a back-reference, two repetitions, many options.
 * It may say so of a harmless pattern; that costs a tenth of a millisecond.
 */
const risky = (source: string): boolean =>
  /\)(?:[*+]|\{)|\\[1-9k]/.test(source) || count(source, /[*+]|\{\d+,/g) > 1 || count(source, /\?/g) > 8

const watch: { pattern: RegExp; input: string; result: RegExpExecArray | null } = {
  pattern: /^/,
  input: "",
  result: null
}
createContext(watch)
const exec = new Script("result = pattern.exec(input)")

/**
 * Matches a pattern that a stranger wrote. One that could run away (catastrophic backtracking) runs under a watchdog that stops
 * it after 250 ms; then, and ever after for this pattern, it throws {@link SlowPattern}.
 */
export const matchPattern = (source: string, flags: string, input: string): RegExpExecArray | null => {
  const pattern = compile(source, flags)
  if (input.length <= longInput && !risky(source)) return pattern.exec(input)
  if (slow.has(source)) throw new SlowPattern(source)
  watch.pattern = pattern
  watch.input = input
  try {
    exec.runInContext(watch, { timeout: longestMs })
    return watch.result
  } catch {
    if (slow.size >= most) slow.clear()
    slow.add(source)
    throw new SlowPattern(source)
  } finally {
    watch.input = ""
    watch.result = null
  }
}
