/** The values that the texts and arguments of a rule may contain. */
export interface Values {
  /** The caller's last words: `{{user}}`. */
  readonly user: string
  /** The groups of the rule's pattern: `$1` to `$9`. Empty without a pattern. */
  readonly groups: ReadonlyArray<string | undefined>
  /** Values of the call: `{{from}}`, `{{to}}`. */
  readonly variables: { readonly [name: string]: string }
  /** The tool's result: `{{result}}` or a part of it, `{{result.slots.0.time}}`. Parsed if it is JSON. */
  readonly result: unknown
}

const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null

const spoken = (value: unknown): string =>
  value === undefined || value === null ? "" : typeof value === "string" ? value : (JSON.stringify(value) ?? "")

const part = (value: unknown, path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((at, key) => (isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined), value)

/**
 * Replaces `$1`, `{{user}}`, `{{result.path}}` and the call's variables in one pass, so that inserted text is not
 * replaced again. A missing part of the result is empty; an unknown name is left unchanged.
 */
export const substitute = (template: string, values: Values): string =>
  template.replace(/\$([1-9])|\{\{\s*([\w.-]+)\s*\}\}/g, (whole: string, group?: string, name?: string) => {
    if (group !== undefined) {
      const index = Number(group)
      return index < values.groups.length ? (values.groups[index] ?? "") : whole
    }
    const [head = "", ...path] = (name ?? "").split(".")
    if (head === "result") return spoken(part(values.result, path))
    if (path.length > 0) return whole
    if (head === "user") return values.user
    return Object.hasOwn(values.variables, head) ? (values.variables[head] ?? "") : whole
  })

/** Substitutes every string in a JSON value. */
export const substituteDeep = (value: unknown, values: Values): unknown => {
  if (typeof value === "string") return substitute(value, values)
  if (Array.isArray(value)) return value.map((item: unknown) => substituteDeep(item, values))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, substituteDeep(item, values)]))
}
