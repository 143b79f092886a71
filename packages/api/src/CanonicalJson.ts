/**
 * Texts of large objects, which are written again with each request to a language model. Values are never changed after
 * they were written.
 */
const texts = new WeakMap<object, string>()
const plainTexts = new WeakMap<object, string>()
/** The least characters of a text that is kept. */
const keptCharacters = 512

/**
 * JSON with the fields of each object in the order of their names, which databases do not keep. Undefined fields are left
 * out.
 */
export const canonicalJson = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  const kept = texts.get(value)
  if (kept !== undefined) return kept
  const text = Array.isArray(value) ? `[${value.map(canonicalJson).join(",")}]` : objectText(value)
  if (text.length >= keptCharacters) texts.set(value, text)
  return text
}

/** JSON of a value with its fields in the order that they have, `null` for undefined. Kept as that of {@link canonicalJson}. */
export const jsonText = (value: unknown): string => {
  const kept = typeof value === "object" && value !== null ? plainTexts.get(value) : undefined
  if (kept !== undefined) return kept
  const text = JSON.stringify(value ?? null)
  if (typeof value === "object" && value !== null && text.length >= keptCharacters) plainTexts.set(value, text)
  return text
}

const objectText = (value: object): string => {
  const keys = Object.keys(value)
  // Those of a tool's result mostly are in order: cleaning has sorted them.
  if (!keys.every((key, index) => index === 0 || (keys[index - 1] ?? "") < key)) keys.sort(byName)
  let fields = ""
  for (const key of keys) {
    const inner: unknown = Reflect.get(value, key)
    if (inner !== undefined) fields += `${fields === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(inner)}`
  }
  return `{${fields}}`
}

const byName = (a: string, b: string): number => (a < b ? -1 : 1)
