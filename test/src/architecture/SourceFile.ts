import { type ParserPlugin, parse } from "@babel/parser"

/** One module named by a file. A dynamic `import()` is a value import, the type query `import("x").T` a type import. */
export interface Import {
  readonly specifier: string
  readonly line: number
  readonly kind: "value" | "type"
}

/** A use of a global for which Effect has a service, such as `Date.now`. */
export interface GlobalUse {
  readonly name: "process.env" | "Date.now" | "new Date()" | "setTimeout" | "setInterval" | "Math.random"
  readonly line: number
}

/**
 * A template literal tagged `sql`. In `text` each expression is `$`; its line breaks are kept, so lines can be counted.
 */
export interface SqlTemplate {
  readonly text: string
  readonly line: number
}

/** A parsed TypeScript file. */
export interface SourceFile {
  readonly path: string
  readonly lines: number
  readonly imports: ReadonlyArray<Import>
  readonly globals: ReadonlyArray<GlobalUse>
  /** String literals: one may name a package for `import.meta.resolve`. */
  readonly literals: ReadonlySet<string>
  readonly sql: ReadonlyArray<SqlTemplate>
  /** All exports of the file are re-exports. */
  readonly onlyReexports: boolean
  readonly syntaxErrors: ReadonlyArray<{ readonly line: number; readonly message: string }>
}

interface Node {
  readonly type: string
  readonly [key: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"

const isIdentifier = (value: unknown, name: string) =>
  isNode(value) && value.type === "Identifier" && value["name"] === name

const stringOf = (value: unknown): string | undefined => {
  if (!isNode(value)) return undefined
  if (value.type === "StringLiteral" && typeof value["value"] === "string") return value["value"]
  return value.type === "TSLiteralType" ? stringOf(value["literal"]) : undefined
}

const lineOf = (node: Node): number => {
  const loc = node["loc"]
  if (typeof loc !== "object" || loc === null || !("start" in loc)) return 1
  const { start } = loc
  return typeof start === "object" && start !== null && "line" in start && typeof start.line === "number"
    ? start.line
    : 1
}

const visit = (value: unknown, see: (node: Node, parent: Node | undefined, key: string) => void): void => {
  const go = (value: unknown, parent: Node | undefined, key: string): void => {
    if (Array.isArray(value)) {
      for (const item of value) go(item, parent, key)
    } else if (isNode(value)) {
      see(value, parent, key)
      for (const [name, child] of Object.entries(value)) {
        if (name !== "loc" && typeof child === "object" && child !== null) go(child, value, name)
      }
    }
  }
  go(value, undefined, "")
}

/** `x`, or the `x` of `globalThis.x`. */
const globalName = (value: unknown): unknown => {
  if (!isNode(value)) return undefined
  if (value.type === "Identifier") return value["name"]
  const isMember = value.type === "MemberExpression" || value.type === "OptionalMemberExpression"
  return isMember && isIdentifier(value["object"], "globalThis") ? memberName(value) : undefined
}

const memberName = (node: Node): unknown => {
  const property = node["property"]
  if (node["computed"] === true) return stringOf(property)
  return isNode(property) && property.type === "Identifier" ? property["name"] : undefined
}

const forbiddenMembers: Readonly<Record<string, GlobalUse["name"]>> = {
  "process.env": "process.env",
  "Date.now": "Date.now",
  "Math.random": "Math.random",
  "globalThis.setTimeout": "setTimeout",
  "globalThis.setInterval": "setInterval"
}

// Positions in which an identifier declares a name or is a type: not uses of a value.
const notAUse = new Set(["key", "property", "imported", "exported", "local", "id", "label", "typeName", "exprName"])

const globalUse = (node: Node, parent: Node | undefined, key: string): GlobalUse["name"] | undefined => {
  const args = node["arguments"]
  switch (node.type) {
    case "MemberExpression":
    case "OptionalMemberExpression":
      return forbiddenMembers[`${String(globalName(node["object"]))}.${String(memberName(node))}`]
    case "NewExpression":
      return globalName(node["callee"]) === "Date" && Array.isArray(args) && args.length === 0
        ? "new Date()"
        : undefined
    case "CallExpression":
      return globalName(node["callee"]) === "Date" ? "new Date()" : undefined
    case "VariableDeclarator":
      return destructured(node)
    case "Identifier": {
      const name = node["name"]
      if (name !== "setTimeout" && name !== "setInterval") return undefined
      return notAUse.has(key) && !(parent?.["computed"] === true) ? undefined : name
    }
    case "ImportDeclaration": {
      const source = stringOf(node["source"])
      if (source?.startsWith("node:timers") && node["importKind"] !== "type") return "setTimeout"
      return source === "node:process" && namesMember(node["specifiers"], "imported", "env") ? "process.env" : undefined
    }
    default:
      return undefined
  }
}

const namesMember = (items: unknown, key: string, name: string) =>
  Array.isArray(items) && items.some((item) => isNode(item) && isIdentifier(item[key], name))

/** `const { env } = process` and similar patterns. */
const destructured = (node: Node): GlobalUse["name"] | undefined => {
  const pattern = node["id"]
  if (!isNode(pattern) || pattern.type !== "ObjectPattern") return undefined
  const owner = String(globalName(node["init"]))
  return Object.entries(forbiddenMembers).find(([path]) => {
    const [object, member = ""] = path.split(".")
    return object === owner && namesMember(pattern["properties"], "key", member)
  })?.[1]
}

const sqlOf = (node: Node): SqlTemplate | undefined => {
  const quasi = node["quasi"]
  if (node.type !== "TaggedTemplateExpression" || !isIdentifier(node["tag"], "sql") || !isNode(quasi)) return undefined
  const line = lineOf(quasi)
  const quasis: ReadonlyArray<unknown> = Array.isArray(quasi["quasis"]) ? quasi["quasis"] : []
  const text = quasis.filter(isNode).reduce((before, part) => {
    const value = part["value"]
    const raw = typeof value === "object" && value !== null && "raw" in value ? String(value.raw) : ""
    const skipped = lineOf(part) - line - (before.split("\n").length - 1)
    return `${before}${before === "" ? "" : "$"}${"\n".repeat(skipped)}${raw}`
  }, "")
  return { text, line }
}

const importOf = (node: Node): Import | undefined => {
  const make = (source: unknown, kind: unknown): Import | undefined => {
    const specifier = stringOf(source)
    return specifier === undefined
      ? undefined
      : { specifier, line: lineOf(node), kind: kind === "type" ? "type" : "value" }
  }
  switch (node.type) {
    case "ImportDeclaration":
      return make(node["source"], node["importKind"])
    case "ExportNamedDeclaration":
    case "ExportAllDeclaration":
      return make(node["source"], node["exportKind"])
    case "TSImportType":
      return make(node["argument"], "type")
    case "CallExpression": {
      const callee = node["callee"]
      const args = node["arguments"]
      const isImport = isNode(callee) && callee.type === "Import" && Array.isArray(args)
      return isImport ? make(args[0], "value") : undefined
    }
    case "JSXElement":
    case "JSXFragment":
      return { specifier: "react/jsx-runtime", line: lineOf(node), kind: "value" }
    default:
      return undefined
  }
}

const isReexport = (statement: Node, imported: ReadonlySet<unknown>): boolean => {
  if (statement.type === "ExportAllDeclaration") return true
  if (statement.type !== "ExportNamedDeclaration" || isNode(statement["declaration"])) return false
  const specifiers = statement["specifiers"]
  if (isNode(statement["source"])) return true
  return (
    Array.isArray(specifiers) &&
    specifiers.every((item) => isNode(item) && isNode(item["local"]) && imported.has(item["local"]["name"]))
  )
}

const onlyReexports = (body: ReadonlyArray<Node>): boolean => {
  const imported = new Set<unknown>()
  for (const statement of body.filter((node) => node.type === "ImportDeclaration")) {
    visit(statement["specifiers"], (node, _, key) => key === "local" && imported.add(node["name"]))
  }
  const rest = body.filter((node) => node.type !== "ImportDeclaration")
  return rest.length > 0 && rest.every((statement) => isReexport(statement, imported))
}

/** Parses a file. Syntax errors are returned in `syntaxErrors`. */
export const readSourceFile = (path: string, text: string): SourceFile => {
  const imports: Array<Import> = []
  const globals: Array<GlobalUse> = []
  const literals = new Set<string>()
  const sql: Array<SqlTemplate> = []
  const lines = text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0)
  const plugins: Array<ParserPlugin> = path.endsWith(".tsx") ? ["typescript", "jsx"] : ["typescript"]
  try {
    const { program } = parse(text, { sourceType: "module", plugins })
    visit(program, (node, parent, key) => {
      const found = importOf(node)
      if (found !== undefined) imports.push(found)
      const name = globalUse(node, parent, key)
      if (name !== undefined) globals.push({ name, line: lineOf(node) })
      const literal = stringOf(node)
      if (literal !== undefined) literals.add(literal)
      const template = sqlOf(node)
      if (template !== undefined) sql.push(template)
    })
    const body: ReadonlyArray<unknown> = program.body
    return {
      path,
      lines,
      imports,
      globals,
      literals,
      sql,
      onlyReexports: onlyReexports(body.filter(isNode)),
      syntaxErrors: []
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const line = Number(/\((\d+):\d+\)/.exec(message)?.[1] ?? 1)
    return { path, lines, imports, globals, literals, sql, onlyReexports: false, syntaxErrors: [{ line, message }] }
  }
}
