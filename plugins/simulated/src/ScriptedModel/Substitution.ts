/** What may be put into the texts and arguments of a rule. */
export interface Facts {
  /** The caller's last words: `{{user}}`. */
  readonly user: string
  /** Groups of the rule's pattern: `$1` to `$9`. Empty when there was no pattern. */
  readonly groups: ReadonlyArray<string | undefined>
  /** Facts about the call: `{{from}}`, `{{to}}`. */
  readonly variables: { readonly [name: string]: string }
  /** The tool's result: `{{result}}` or a part of it, `{{result.slots.0.time}}`. JSON where it can be read as such. */
  readonly result: unknown
}

const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null

const spoken = (value: unknown): string =>
  value === undefined || value === null ? "" : typeof value === "string" ? value : (JSON.stringify(value) ?? "")

const part = (value: unknown, path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((at, key) => (isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined), value)

/**
 * Fills in `$1`, `{{user}}`, `{{result.path}}` and the call's variables, in one pass: what is put in is not looked at again.
 * A missing part of the result is empty; a name that means nothing stays as it is.
 */
export const substitute = (template: string, facts: Facts): string =>
  template.replace(/\$([1-9])|\{\{\s*([\w.-]+)\s*\}\}/g, (whole: string, group?: string, name?: string) => {
    if (group !== undefined) {
      const index = Number(group)
      return index < facts.groups.length ? (facts.groups[index] ?? "") : whole
    }
    const [head = "", ...path] = (name ?? "").split(".")
    if (head === "result") return spoken(part(facts.result, path))
    if (path.length > 0) return whole
    if (head === "user") return facts.user
    return Object.hasOwn(facts.variables, head) ? (facts.variables[head] ?? "") : whole
  })

/** The same for every string in a JSON value. */
export const substituteDeep = (value: unknown, facts: Facts): unknown => {
  if (typeof value === "string") return substitute(value, facts)
  if (Array.isArray(value)) return value.map((item: unknown) => substituteDeep(item, facts))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, substituteDeep(item, facts)]))
}
