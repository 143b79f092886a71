import { SchemaAST as AST, Schema } from "effect"

/** How many fields are named. */
const maxNamed = 10

/** The longest name that is shown of a field. */
const maxLength = 100

/** The types that a value may have, without what surrounds them in the schema. */
const typesOf = (ast: AST.AST): ReadonlyArray<AST.AST> => {
  switch (ast._tag) {
    case "Union":
      return ast.types.flatMap(typesOf)
    case "Refinement":
      return typesOf(ast.from)
    case "Suspend":
      return typesOf(ast.f())
    default:
      return [ast]
  }
}

/** A name as part of a header: printable ASCII without the comma between paths and the dot between names. */
const shown = (name: string): string =>
  name.slice(0, maxLength).replace(/[^\x21-\x7e]|[,.%]/gu, (character) => encodeURIComponent(character.toWellFormed()))

/** What a value may be, as far as its fields matter: made once for each place in a schema, when a value first comes there. */
class Shape {
  readonly #objects: ReadonlyArray<AST.TypeLiteral>
  readonly #tuples: ReadonlyArray<AST.TupleType>
  /** By declared name. */
  readonly #fields = new Map<string, Shape | undefined>()
  /** Of names that no object declares, and of entries of a list; made at the first use. */
  #others: { readonly shape: Shape | undefined } | undefined
  #items: { readonly shape: Shape | undefined } | undefined

  constructor(types: ReadonlyArray<AST.AST>) {
    const all = types.flatMap(typesOf)
    this.#objects = all.filter(AST.isTypeLiteral)
    this.#tuples = all.filter(AST.isTupleType)
    for (const { propertySignatures } of this.#objects) {
      for (const { name } of propertySignatures) this.#fields.set(String(name), undefined)
    }
  }

  /** A type such as `unknown` takes every field. */
  get takesAll(): boolean {
    return this.#objects.length === 0
  }

  /** The shape of a field; undefined when it is not declared. */
  field(name: string): Shape | undefined {
    if (!this.#fields.has(name)) {
      this.#others ??= { shape: this.#shapeOf(name) }
      return this.#others.shape
    }
    const made = this.#fields.get(name) ?? this.#shapeOf(name)
    this.#fields.set(name, made)
    return made
  }

  #shapeOf(name: string): Shape | undefined {
    const types = this.#objects.flatMap(({ indexSignatures, propertySignatures }) => {
      const declared = propertySignatures.find((property) => property.name === name)
      return declared === undefined ? indexSignatures.map(({ type }) => type) : [declared.type]
    })
    return types.length === 0 ? undefined : new Shape(types)
  }

  /** The shape of an entry of a list; undefined when lists are not declared. */
  item(index: number): Shape | undefined {
    if (this.#tuples.some(({ elements }) => elements.length > 0)) return this.#itemShape(index)
    this.#items ??= { shape: this.#itemShape(index) }
    return this.#items.shape
  }

  #itemShape(index: number): Shape | undefined {
    const types = this.#tuples.flatMap(({ elements, rest }) => elements[index]?.type ?? rest[0]?.type ?? [])
    return types.length === 0 ? undefined : new Shape(types)
  }
}

const collect = (shape: Shape, value: unknown, path: string, found: Array<string>): void => {
  if (typeof value !== "object" || value === null || found.length >= maxNamed) return
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      if (typeof item !== "object" || item === null) continue
      const inner = shape.item(index)
      if (inner !== undefined) collect(inner, item, `${path}${index}.`, found)
    }
    return
  }
  if (shape.takesAll) return
  for (const name of Object.keys(value)) {
    if (found.length >= maxNamed) return
    const inner = shape.field(name)
    if (inner === undefined) found.push(path + shown(name))
    else {
      const item: unknown = Reflect.get(value, name)
      if (typeof item === "object" && item !== null) collect(inner, item, `${path}${shown(name)}.`, found)
    }
  }
}

/**
 * Names the fields of a body that its schema does not declare, which are ignored: dotted paths, at most 10. Other
 * characters than printable ASCII, and commas and dots of names, are percent-encoded.
 */
export const ignoredFields = (schema: Schema.Schema.All): ((body: unknown) => ReadonlyArray<string>) => {
  const shape = new Shape([Schema.encodedSchema(schema as Schema.Schema<unknown>).ast])
  return (body) => {
    const found: Array<string> = []
    collect(shape, body, "", found)
    return found
  }
}
