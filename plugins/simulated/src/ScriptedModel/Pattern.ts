import { createContext, Script } from "node:vm"

/** A pattern took too long to match. It is not tried again. */
export class SlowPattern extends Error {
  readonly pattern: string
  constructor(pattern: string) {
    super(`the pattern ${JSON.stringify(pattern)} in the script takes too long; make it simpler`)
    this.pattern = pattern
  }
}

/**
 * The time limit of one match in milliseconds, far above that of a sensible pattern, because a busy machine may pause
 * it.
 */
const timeoutMs = 250

/** Longer inputs are always matched with the time limit. */
const longInput = 1000

/** The maximum number of cached patterns. */
const maxPatterns = 1000
const compiled = new Map<string, RegExp>()
const slow = new Set<string>()

const compile = (source: string, flags: string): RegExp => {
  const key = `${flags}/${source}`
  const known = compiled.get(key)
  if (known !== undefined) return known
  if (compiled.size >= maxPatterns) compiled.clear()
  const made = new RegExp(source, flags)
  compiled.set(key, made)
  return made
}

const count = (source: string, what: RegExp): number => source.match(what)?.length ?? 0

/**
 * Whether matching may take more than quadratic time: a repeated group, a back-reference, two repetitions, many
 * options. A false positive costs a tenth of a millisecond.
 */
const risky = (source: string): boolean =>
  /\)(?:[*+]|\{)|\\[1-9k]/.test(source) || count(source, /[*+]|\{\d+,/g) > 1 || count(source, /\?/g) > 8

const sandbox: { pattern: RegExp; input: string; result: RegExpExecArray | null } = {
  pattern: /^/,
  input: "",
  result: null
}
createContext(sandbox)
const exec = new Script("result = pattern.exec(input)")

/**
 * Matches an untrusted pattern. One that may backtrack catastrophically is stopped after 250 ms; then, and on every
 * later match of the pattern, it throws {@link SlowPattern}.
 */
export const matchPattern = (source: string, flags: string, input: string): RegExpExecArray | null => {
  const pattern = compile(source, flags)
  if (input.length <= longInput && !risky(source)) return pattern.exec(input)
  if (slow.has(source)) throw new SlowPattern(source)
  sandbox.pattern = pattern
  sandbox.input = input
  try {
    exec.runInContext(sandbox, { timeout: timeoutMs })
    return sandbox.result
  } catch {
    if (slow.size >= maxPatterns) slow.clear()
    slow.add(source)
    throw new SlowPattern(source)
  } finally {
    sandbox.input = ""
    sandbox.result = null
  }
}
