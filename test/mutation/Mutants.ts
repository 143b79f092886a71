import { parse } from "@babel/parser"

/** One small change of a source file that a test should notice. */
export interface Mutant {
  /** Unique in its target: `machines/Turn.ts:12:5 #3`. */
  readonly id: string
  /** From the root of the repository. */
  readonly file: string
  readonly line: number
  /** The change in readable form. */
  readonly change: string
  /** Offsets of the code that is replaced. */
  readonly start: number
  readonly end: number
  /** The code that replaces it; undefined removes a statement. */
  readonly replacement: string | undefined
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly loc: { readonly start: { readonly line: number; readonly column: number } }
  readonly [key: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && "start" in value && "loc" in value

const nodesOf = (value: unknown): ReadonlyArray<Node> =>
  Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : []

const nodeOf = (value: unknown): Node | undefined => (isNode(value) ? value : undefined)

const operators: Readonly<Record<string, ReadonlyArray<string>>> = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "===": ["!=="],
  "!==": ["==="],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "%": ["*"],
  "+=": ["-="],
  "-=": ["+="],
  "++": ["--"],
  "--": ["++"]
}

const swaps: ReadonlyArray<readonly [string, string]> = [
  ["some", "every"],
  ["min", "max"],
  ["floor", "ceil"],
  ["startsWith", "endsWith"],
  ["isSome", "isNone"],
  ["sum", "subtract"],
  ["lessThan", "lessThanOrEqualTo"],
  ["greaterThan", "greaterThanOrEqualTo"],
  ["isPositive", "isNegative"]
]
const oneWay: ReadonlyArray<readonly [string, string]> = [
  ["multiply", "sum"],
  ["round", "floor"]
]
const methods = new Map([...swaps, ...swaps.map(([a, b]) => [b, a] as const), ...oneWay])

/** `x.filter(f)` and `BigDecimal.negate(x)` become `x`. */
const removedMethods = new Set(["filter", "toReversed", "slice", "trim"])
const removedFunctions = new Set(["negate"])

const sqlTokens =
  /<=|>=|<>|(?<![<=-])>(?!=)|<(?![=>])|(?<![<>:!=])=(?!=)| [+-] |\b(?:and|or|not|desc|least|greatest|min|max)\b/gi
const sqlWords: Readonly<Record<string, string>> = {
  "<=": "<",
  ">=": ">",
  "<": "<=",
  ">": ">=",
  "<>": "=",
  "=": "<>",
  " + ": " - ",
  " - ": " + ",
  and: "or",
  or: "and",
  not: "",
  desc: "asc",
  least: "greatest",
  greatest: "least",
  min: "max",
  max: "min"
}

const isText = (node: Node | undefined) => node?.type === "StringLiteral" || node?.type === "TemplateLiteral"

/** Log messages and spans are not behaviour that tests check. */
const isTrace = (code: string) => /^(yield\* )?Effect\.(log|annotate)/.test(code)

/** Wrappers of TypeScript around an expression. */
const transparent = new Set(["TSAsExpression", "TSSatisfiesExpression", "TSNonNullExpression"])

export const mutantsOf = (file: string, code: string): ReadonlyArray<Mutant> => {
  const mutants: Array<Mutant> = []
  const textOf = ({ end, start }: { readonly start: number; readonly end: number }) => code.slice(start, end)
  const brief = (text: string) => {
    const line = text.replaceAll(/\s+/g, " ")
    return line.length > 100 ? `${line.slice(0, 60)} … ${line.slice(-35)}` : line
  }
  const add = (node: Node, replacement: string | undefined, change?: string) => {
    const { column, line } = node.loc.start
    mutants.push({
      id: `${file}:${line}:${column + 1} #${mutants.length}`,
      file,
      line,
      change: change ?? `${brief(textOf(node))} → ${brief(replacement ?? "removed")}`,
      start: node.start,
      end: node.end,
      replacement
    })
  }
  /** The text of `node` without that of one of its parts, and without the comma after it. */
  const without = (node: Node, part: Node) => {
    const comma = /^\s*,/.exec(code.slice(part.end, node.end))?.[0] ?? ""
    return code.slice(node.start, part.start) + code.slice(part.end + comma.length, node.end)
  }
  const spliced = (node: Node, start: number, end: number, text: string) =>
    code.slice(node.start, start) + text + code.slice(end, node.end)

  const condition = (node: Node | undefined, isLoop = false) => {
    if (node === undefined) return
    if (!isLoop) add(node, "true")
    add(node, "false")
  }
  const operator = (node: Node, left: Node | undefined, right: Node | undefined) => {
    const name = String(node["operator"])
    if (left === undefined || right === undefined || isText(left) || isText(right)) return
    const start = code.indexOf(name, left.end)
    for (const other of operators[name] ?? []) add(node, spliced(node, start, start + name.length, other))
  }
  const sql = (node: Node) => {
    for (const quasi of nodesOf(nodeOf(node["quasi"])?.["quasis"])) {
      const text = textOf(quasi)
      for (const { 0: token, index } of text.matchAll(sqlTokens)) {
        const before = text.slice(0, index)
        const keyword = [...before.matchAll(/\b(set|where|on|and|or|when|select)\b/gi)].at(-1)?.[0].toLowerCase()
        if ((token === "=" && keyword === "set") || (before.match(/'/g)?.length ?? 0) % 2 === 1) continue
        const start = quasi.start + index
        const other = sqlWords[token.toLowerCase()] ?? ""
        const mark = (middle: string) =>
          brief(
            `${text.slice(Math.max(0, index - 25), index)}«${middle}»${text.slice(index + token.length).slice(0, 25)}`
          )
        add(node, spliced(node, start, start + token.length, other), `SQL: ${mark(token)} → ${mark(other)}`)
      }
    }
  }
  const call = (node: Node) => {
    const callee = nodeOf(node["callee"])
    const property = nodeOf(callee?.["property"])
    if (callee?.type !== "MemberExpression" || property === undefined || callee["computed"] === true) return
    const name = textOf(property)
    const other = methods.get(name)
    if (other !== undefined) add(node, spliced(node, property.start, property.end, other))
    const object = nodeOf(callee["object"])
    // A capital letter: a namespace, not a value.
    if (removedMethods.has(name) && object !== undefined && !/^[A-Z]/.test(textOf(object))) add(node, textOf(object))
    const argument = nodesOf(node["arguments"])[0]
    if (removedFunctions.has(name) && argument !== undefined) add(node, textOf(argument))
  }

  const see = (node: Node): void => {
    const { type } = node
    if (type === "IfStatement" || type === "ConditionalExpression") condition(nodeOf(node["test"]))
    else if (/^(While|DoWhile|For)Statement$/.test(type)) condition(nodeOf(node["test"]), true)
    else if (type === "BinaryExpression") operator(node, nodeOf(node["left"]), nodeOf(node["right"]))
    else if (type === "AssignmentExpression") operator(node, nodeOf(node["left"]), nodeOf(node["right"]))
    else if (type === "UpdateExpression") {
      const other = operators[String(node["operator"])]?.[0] ?? ""
      const argument = textOf(nodeOf(node["argument"]) ?? node)
      add(node, node["prefix"] === true ? other + argument : argument + other)
    } else if (type === "LogicalExpression") {
      for (const side of [nodeOf(node["left"]), nodeOf(node["right"])]) if (side !== undefined) add(node, textOf(side))
    } else if (type === "UnaryExpression" && /^[!-]$/.test(String(node["operator"]))) {
      const argument = nodeOf(node["argument"])
      if (argument !== undefined) add(node, textOf(argument))
    } else if (type === "BooleanLiteral") add(node, String(node["value"] !== true))
    else if (type === "NumericLiteral") {
      const value = Number(node["value"])
      add(node, String(value < 10 ? value + 1 : value * 2 + 1))
    } else if (type === "BigIntLiteral") add(node, `(${textOf(node)} + 1n)`)
    else if (type === "ExpressionStatement") {
      const expression = nodeOf(node["expression"])
      if (expression?.type !== "StringLiteral" && !textOf(node).startsWith("super(")) add(node, undefined)
    } else if (type === "ObjectExpression") {
      const parts = nodesOf(node["properties"])
      // What an update of a state changes.
      if (parts.some((part) => part.type === "SpreadElement")) {
        for (const part of parts) {
          if (part.type === "ObjectProperty") add(node, without(node, part), `remove ${brief(textOf(part))}`)
        }
      }
    } else if (type === "ArrayExpression") {
      for (const part of nodesOf(node["elements"])) {
        if (/^(SpreadElement|ObjectExpression|CallExpression)$/.test(part.type)) {
          add(node, without(node, part), `remove ${brief(textOf(part))}`)
        }
      }
    } else if (type === "CallExpression") call(node)
    else if (type === "TaggedTemplateExpression" && /\bsql$/.test(textOf(nodeOf(node["tag"]) ?? node))) sql(node)
  }
  const visit = (node: Node): void => {
    if (transparent.has(node.type)) nodesOf(node["expression"]).forEach(visit)
    if (/^(TS|Import|ExportAll)/.test(node.type)) return
    if (node.type === "ExpressionStatement" && isTrace(textOf(node))) return
    see(node)
    for (const [key, value] of Object.entries(node)) {
      const isName = (key === "key" && node["computed"] !== true) || key === "superClass"
      // A shorthand's key and value are the same code.
      if (isName || /^(loc|extra|\w+Comments|errors)$/.test(key)) continue
      nodesOf(value).forEach(visit)
    }
  }
  const program: unknown = parse(code, { sourceType: "module", plugins: ["typescript"] }).program
  nodesOf(program).forEach(visit)
  return mutants
}

/**
 * The code with all its mutants in it: each is active while `globalThis.__mutants.on(number)` says so, where the
 * numbers count from `first`. Nothing is compiled or loaded anew for a mutant.
 */
export const instrument = (code: string, mutants: ReadonlyArray<Mutant>, first: number): string => {
  const sites = new Map<string, { readonly start: number; readonly end: number; readonly numbers: Array<number> }>()
  for (const [index, { end, start }] of mutants.entries()) {
    const key = `${start}-${end}`
    const site = sites.get(key) ?? { start, end, numbers: [] }
    sites.set(key, site)
    site.numbers.push(index)
  }
  // Outer before inner, in the order of the code.
  const pending = [...sites.values()].sort((a, b) => b.start - a.start || a.end - b.end)
  const on = (index: number) => `globalThis.__mutants.on(${first + index})`
  const render = (start: number, end: number): string => {
    let text = ""
    let at = start
    for (let site = pending.at(-1); site !== undefined && site.start < end; site = pending.at(-1)) {
      pending.pop()
      text += code.slice(at, site.start)
      let inner = render(site.start, site.end)
      const replacements = site.numbers.map((index) => ({ index, replacement: mutants[index]?.replacement }))
      const changed = replacements.filter(({ replacement }) => replacement !== undefined)
      if (changed.length > 0) {
        inner = `(${changed.map(({ index, replacement }) => `${on(index)} ? ${replacement} : `).join("")}${inner})`
      }
      // Blocks: no `else` that follows may belong to this `if`, nor a parenthesis continue the line before.
      for (const { index } of replacements.filter((one) => one.replacement === undefined)) {
        inner = `{ if (!${on(index)}) { ${inner} } }`
      }
      text += inner
      at = site.end
    }
    return text + code.slice(at, end)
  }
  return render(0, code.length)
}
