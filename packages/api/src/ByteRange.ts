/** The part of a body that a `Range` header asks for; `end` is the byte after it. `undefined`: the whole body. */
export type ByteRange = { readonly start: number; readonly end: number } | "unsatisfiable" | undefined

/**
 * Reads a `Range` header (RFC 9110 §14) for a body of `size` bytes. Other units, invalid headers and multiple
 * ranges are ignored, which the RFC allows.
 */
export const byteRange = (header: string | undefined, size: number): ByteRange => {
  const [matched, first = "", last = ""] = /^bytes\s*=\s*(\d{0,15})-(\d{0,15})$/i.exec(header?.trim() ?? "") ?? []
  if (matched === undefined || (first === "" && last === "")) return undefined
  if (first === "") {
    // A suffix range: the last bytes.
    return last === "0" || size === 0 ? "unsatisfiable" : { start: Math.max(0, size - Number(last)), end: size }
  }
  const start = Number(first)
  const end = last === "" ? size : Math.min(size, Number(last) + 1)
  if (last !== "" && Number(last) < start) return undefined
  return start >= size ? "unsatisfiable" : { start, end }
}
