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

const collect = (types: ReadonlyArray<AST.AST>, value: unknown, path: string, found: Array<string>): void => {
  if (typeof value !== "object" || value === null || found.length >= maxNamed) return
  if (Array.isArray(value)) {
    const tuples = types.filter(AST.isTupleType)
    for (const [index, item] of value.entries()) {
      const inner = tuples.flatMap(({ elements, rest }) => typesAt(elements[index]?.type ?? rest[0]?.type))
      if (inner.length > 0) collect(inner, item, `${path}${index}.`, found)
    }
    return
  }
  const objects = types.filter(AST.isTypeLiteral)
  // A type such as `unknown` takes every field.
  if (objects.length === 0) return
  for (const [name, item] of Object.entries(value)) {
    if (found.length >= maxNamed) return
    const inner = objects.flatMap(({ indexSignatures, propertySignatures }) => {
      const declared = propertySignatures.find((property) => property.name === name)
      return declared === undefined ? indexSignatures.map(({ type }) => type) : [declared.type]
    })
    if (inner.length === 0) found.push(path + shown(name))
    else collect(inner.flatMap(typesOf), item, `${path}${shown(name)}.`, found)
  }
}

const typesAt = (ast: AST.AST | undefined): ReadonlyArray<AST.AST> => (ast === undefined ? [] : typesOf(ast))

/**
 * Names the fields of a body that its schema does not declare, which are ignored: dotted paths, at most 10. Other
 * characters than printable ASCII, and commas and dots of names, are percent-encoded.
 */
export const ignoredFields = (schema: Schema.Schema.All): ((body: unknown) => ReadonlyArray<string>) => {
  const types = typesOf(Schema.encodedSchema(schema as Schema.Schema<unknown>).ast)
  return (body) => {
    const found: Array<string> = []
    collect(types, body, "", found)
    return found
  }
}
