/**
 * Untrusted regular expressions, matched in time linear in the text: all alternatives are followed in parallel
 * (Thompson's algorithm), so there is no catastrophic backtracking. The syntax is JavaScript's without look-around and
 * back-references, which this algorithm cannot match.
 */
export interface LinearPattern {
  /**
   * Whether the pattern matches somewhere in a text. A text of more than {@link longestText} characters does not match.
   */
  readonly test: (text: string) => boolean
  /** Its size: a test takes time proportional to it. At most {@link maxSteps}. */
  readonly steps: number
}

/** The longest text that can match, in characters; patterns are for codes, numbers and dates. */
export const longestText = 256
/** The longest pattern, in characters, and in steps after repetitions are expanded. */
const longestPattern = 500
const maxSteps = 500

/** A pattern cannot be used; the message is the reason in one plain sentence. */
export class UnusablePattern extends Error {}

type Assertion = "^" | "$" | "\\b" | "\\B"
type Matches = (character: string) => boolean
type Node =
  | { readonly kind: "one"; readonly matches: Matches }
  | { readonly kind: "assert"; readonly what: Assertion }
  | { readonly kind: "all" | "any"; readonly parts: ReadonlyArray<Node> }
  | { readonly kind: "repeat"; readonly what: Node; readonly least: number; readonly most: number }

/** One step of a compiled pattern: consumes a character, asserts a position, forks, or reports a match. */
type Step =
  | { readonly kind: "one"; readonly matches: Matches }
  | { readonly kind: "assert"; readonly what: Assertion }
  | { readonly kind: "fork"; readonly ways: Array<number> }
  | { readonly kind: "match" }

const escaped = /^\\(?:u\{[0-9a-f]+\}|u[0-9a-f]{4}|x[0-9a-f]{2}|c[a-z]|p\{[^}]*\}|.)/isu
const characterClass = /^\[(?:\\.|[^\]\\])*\]/su
const quantifier = /^(?:([*+?])|\{(\d+)(?:,(\d*))?\})\??/u

/** Parses a pattern that JavaScript accepts. */
class Reader {
  #rest: string
  readonly #flags: string
  /** The sets of characters so far, by their source. */
  readonly #sets = new Map<string, Node>()

  constructor(source: string, flags: string) {
    this.#rest = source
    this.#flags = flags
  }

  alternatives(): Node {
    const parts = [this.#sequence()]
    while (this.#take("|")) parts.push(this.#sequence())
    return { kind: "any", parts }
  }

  #take(text: string): boolean {
    if (!this.#rest.startsWith(text)) return false
    this.#rest = this.#rest.slice(text.length)
    return true
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    const found = pattern.exec(this.#rest)
    if (found !== null) this.#rest = this.#rest.slice(found[0].length)
    return found
  }

  #sequence(): Node {
    const parts: Array<Node> = []
    while (this.#rest !== "" && !/^[|)]/.test(this.#rest)) {
      const what = this.#atom()
      const found = this.#match(quantifier)
      parts.push(found === null ? what : { kind: "repeat", what, ...bounds(found) })
    }
    return { kind: "all", parts }
  }

  #atom(): Node {
    if (this.#take("(")) return this.#group()
    for (const what of ["^", "$", "\\b", "\\B"] as const) if (this.#take(what)) return { kind: "assert", what }
    if (/^\\[1-9k]/.test(this.#rest)) throw new UnusablePattern("a back-reference cannot be used")
    const set = this.#match(characterClass) ?? this.#match(escaped)
    if (set !== null) return this.#charactersOf(set[0])
    if (this.#take(".")) return this.#charactersOf(".")
    const [literal = ""] = this.#flags === "u" ? this.#rest : [this.#rest.charAt(0)]
    this.#rest = this.#rest.slice(literal.length)
    return { kind: "one", matches: (character) => character === literal }
  }

  #group(): Node {
    if (/^\?<?[=!]/.test(this.#rest)) throw new UnusablePattern("look-around cannot be used")
    this.#match(/^\?(?::|<[^>]*>)/u)
    if (this.#rest.startsWith("?")) throw new UnusablePattern("a group of this kind cannot be used")
    const inner = this.alternatives()
    this.#take(")")
    return inner
  }

  /** The characters of one class or escape. JavaScript tests a single character, which is fast. */
  #charactersOf(source: string): Node {
    const known = this.#sets.get(source)
    if (known !== undefined) return known
    const set = new RegExp(`^${source}$`, this.#flags)
    const node: Node = { kind: "one", matches: (character) => set.test(character) }
    this.#sets.set(source, node)
    return node
  }
}

const bounds = (found: RegExpExecArray): { readonly least: number; readonly most: number } => {
  const [, sign, least, most = least] = found
  if (sign !== undefined) return { least: sign === "+" ? 1 : 0, most: sign === "?" ? 1 : Number.POSITIVE_INFINITY }
  return { least: Number(least), most: most === "" ? Number.POSITIVE_INFINITY : Number(most) }
}

const compile = (tree: Node): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  const add = <S extends Step>(step: S): S => {
    if (steps.length >= maxSteps) throw new UnusablePattern("it is too large")
    steps.push(step)
    return step
  }
  const fork = (...ways: Array<number>) => add({ kind: "fork" as const, ways })
  const emit = (node: Node): void => {
    switch (node.kind) {
      case "one":
      case "assert":
        add(node)
        return
      case "all":
        for (const part of node.parts) emit(part)
        return
      case "any": {
        const start = fork()
        const ends: Array<Array<number>> = []
        for (const part of node.parts) {
          start.ways.push(steps.length)
          emit(part)
          ends.push(fork().ways)
        }
        for (const end of ends) end.push(steps.length)
        return
      }
      case "repeat": {
        for (let n = 0; n < node.least; n++) emit(node.what)
        if (node.most === Number.POSITIVE_INFINITY) {
          const start = steps.length
          const loop = fork(start + 1)
          emit(node.what)
          fork(start)
          loop.ways.push(steps.length)
          return
        }
        const exits: Array<Array<number>> = []
        for (let n = node.least; n < node.most; n++) {
          exits.push(fork(steps.length + 1).ways)
          emit(node.what)
        }
        for (const exit of exits) exit.push(steps.length)
        return
      }
    }
  }
  emit(tree)
  steps.push({ kind: "match" })
  return steps
}

const isWord = (character = ""): boolean => /^[A-Za-z0-9_]$/.test(character)

const isEdge = (text: ReadonlyArray<string>, at: number): boolean => isWord(text[at - 1]) !== isWord(text[at])

/** Follows all alternatives at once. Each step is visited once per position, and each set is tested once. */
const run = (steps: ReadonlyArray<Step>, text: ReadonlyArray<string>): boolean => {
  /** The position at which a step was visited last, from 1. */
  const seen = new Uint16Array(steps.length)
  const tested = new Map<Matches, boolean>()
  let waiting: Array<number> = []
  // The end of the text is a position as well.
  for (let at = 0; at <= text.length; at++) {
    const character = text[at] ?? ""
    let edge: boolean | undefined
    tested.clear()
    const holds = (what: Assertion): boolean => {
      if (what === "^") return at === 0
      if (what === "$") return at === text.length
      edge ??= isEdge(text, at)
      return what === "\\b" ? edge : !edge
    }
    const fits = (matches: Matches): boolean => {
      const known = tested.get(matches)
      if (known !== undefined) return known
      const found = matches(character)
      tested.set(matches, found)
      return found
    }
    const open = waiting
    waiting = []
    // A match may begin at every position.
    open.push(0)
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      const step = steps[index]
      if (step === undefined || seen[index] === at + 1) continue
      seen[index] = at + 1
      if (step.kind === "match") return true
      if (step.kind === "fork") open.push(...step.ways)
      else if (step.kind === "assert") {
        if (holds(step.what)) open.push(index + 1)
      } else if (fits(step.matches)) waiting.push(index + 1)
    }
  }
  return false
}

/** Why JavaScript rejects a pattern with these flags; undefined if it accepts it. */
const faultOf = (source: string, flags: string): string | undefined => {
  try {
    new RegExp(source, flags)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Makes a pattern. Throws {@link UnusablePattern}. */
export const linearPattern = (source: string): LinearPattern => {
  if (source.length > longestPattern) throw new UnusablePattern(`it is longer than ${longestPattern} characters`)
  // By code points, as JSON Schema requires; by code units if the pattern is valid only that way.
  const flags = faultOf(source, "u") === undefined ? "u" : ""
  const fault = flags === "u" ? undefined : faultOf(source, "")
  if (fault !== undefined) throw new UnusablePattern(fault)
  const steps = compile(new Reader(source, flags).alternatives())
  return {
    steps: steps.length,
    test: (text) => {
      if (text.length > longestText) return false
      return run(steps, flags === "u" ? [...text] : text.split(""))
    }
  }
}
