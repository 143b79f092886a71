import type { Contract, JsonSchema } from "./Contract.ts"
import type { Conventions, ErrorVariant } from "./Conventions.ts"

type Components = Contract["components"]

const schemaPath = "#/components/schemas/"

/** What the complete `paths` refer to by the prefix of a variant: its schemas and examples, made from those of `schemas`. */
export const variantsOf = (
  paths: Contract["paths"],
  schemas: Components["schemas"],
  variants: ReadonlySet<ErrorVariant>,
  { codeOf }: Conventions
): { readonly schemas: Components["schemas"]; readonly examples: NonNullable<Components["examples"]> } => {
  const made: { [name: string]: JsonSchema } = {}
  const examples: { [name: string]: { readonly summary: string; readonly value: unknown } } = {}
  const add = (variant: ErrorVariant, name: string, status: number): void => {
    const error = schemas[name] ?? {}
    const { description = "" } = error
    const code = codeOf(error) ?? name
    made[variant.prefix + name] = variant.schemaOf(error)
    examples[variant.prefix + code] = { summary: description, value: variant.example(code, description, status) }
  }
  for (const operation of Object.values(paths).flatMap((item) => Object.values(item))) {
    for (const [status, { content }] of Object.entries(operation.responses)) {
      const schema = content?.["application/json"].schema
      for (const { $ref = "" } of schema?.anyOf ?? (schema === undefined ? [] : [schema])) {
        for (const variant of variants) {
          const before = schemaPath + variant.prefix
          if ($ref.startsWith(before)) add(variant, $ref.slice(before.length), Number(status))
        }
      }
    }
  }
  return { schemas: made, examples }
}
