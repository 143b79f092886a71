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

/** Keeps the canonical JSON of a value, however small it is. Returns the value. */
export const keepCanonicalJson = <A extends object>(value: A): A => {
  texts.set(value, canonicalJson(value))
  return value
}

/** JSON of a value with its fields in the order that they have, `null` for undefined. Kept as that of {@link canonicalJson}. */
export const jsonText = (value: unknown): string => {
  const kept = typeof value === "object" && value !== null ? plainTexts.get(value) : undefined
  if (kept !== undefined) return kept
  const text = JSON.stringify(value ?? null)
  if (typeof value === "object" && value !== null && text.length >= keptCharacters) plainTexts.set(value, text)
  return text
}

/** Names of fields as JSON: those of commands come again and again. Others, as of tools' results, may be there too. */
const names = new Map<string, string>()
const maxNames = 2000
const longestName = 40

const nameText = (name: string): string => {
  const known = names.get(name)
  if (known !== undefined) return known
  const text = JSON.stringify(name)
  if (names.size < maxNames && name.length <= longestName) names.set(name, text)
  return text
}

/** The most fields that are sorted in place, which needs no memory. */
const maxInPlace = 32

const sort = (keys: Array<string>): Array<string> => {
  if (keys.length > maxInPlace) return keys.sort(byName)
  for (let at = 1; at < keys.length; at++) {
    const key = keys[at] ?? ""
    let to = at
    for (; to > 0 && (keys[to - 1] ?? "") > key; to--) keys[to] = keys[to - 1] ?? ""
    keys[to] = key
  }
  return keys
}

const objectText = (value: object): string => {
  let fields = ""
  for (const key of sort(Object.keys(value))) {
    const inner: unknown = Reflect.get(value, key)
    if (inner !== undefined) fields += `${fields === "" ? "" : ","}${nameText(key)}:${canonicalJson(inner)}`
  }
  return `{${fields}}`
}

const byName = (a: string, b: string): number => (a < b ? -1 : 1)
