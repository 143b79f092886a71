import * as VariantSchema from "@effect/experimental/VariantSchema"
import { Struct } from "effect"

/**
 * One list of fields per entity, from which its schemas are derived. A field says which variants it is part of, and with
 * which schema:
 *
 * | variant | schema of |
 * |---|---|
 * | `wire` | the entity in responses and events |
 * | `create`, `update` | the bodies of POST and PATCH |
 * | `row` | a row as its repository reads it; the keys are the columns |
 * | `insert` | the columns that an insert writes |
 * | `change` | the columns that an update writes |
 * | `audit` | the entity in its audit log |
 *
 * `Fields` makes a list, `Field` a field, and `variant(list, name)` is the struct of one variant, in the order of the list.
 */
const entity = VariantSchema.make({
  variants: ["wire", "create", "update", "row", "insert", "change", "audit"],
  defaultVariant: "wire"
})

export const Fields = entity.Struct
export const Field = entity.Field
export const variant = entity.extract

/** `current` with those `changes` that are given: a field that is absent or undefined stays. */
export const withChanges = <A extends object>(
  current: A,
  changes: { readonly [K in keyof A]?: A[K] | undefined }
): A => {
  const after = { ...current }
  const set = <K extends keyof A>(key: K): void => {
    const value = changes[key]
    if (value !== undefined) after[key] = value
  }
  for (const key of Struct.keys(changes)) set(key)
  return after
}

/** Some fields of an entity, in the order of `keys`. A plain loop, because lists call it for every row. */
export const pick = <A, K extends keyof A>(entity: A, keys: ReadonlyArray<K>): Pick<A, K> => {
  const picked: Partial<A> = {}
  for (const key of keys) picked[key] = entity[key]
  // Every key was set above.
  return picked as Pick<A, K>
}
