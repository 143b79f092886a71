/**
 * Limits of JSON from outside, checked on its bytes before it is parsed: parsing, cleaning and decoding take time for
 * each value and level, and hold the thread that paces the calls. See docs/reference/conventions.md.
 */

/** Deepest nesting of arrays and objects. */
export const maxJsonDepth = 100

/** The most values: texts, numbers, booleans, nulls, arrays and objects. */
export const maxJsonValues = 10_000

/** The most fields of all objects together, which cost more than other values. */
export const maxJsonFields = 5_000

const [quote, backslash, comma, colon, openBracket, closeBracket, openBrace, closeBrace] = [
  0x22, 0x5c, 0x2c, 0x3a, 0x5b, 0x5d, 0x7b, 0x7d
] as const

/**
 * Which limit a JSON text in UTF-8 exceeds, as the end of a sentence that begins with the name of the text; undefined
 * when it keeps both. Says nothing about text that is not JSON. Stops at the limit, and reads each byte once.
 */
export const jsonExcess = (json: Uint8Array): string | undefined => {
  let depth = 0
  // Each comma separates two values, and each bracket may begin the first one inside.
  let values = 1
  let fields = 0
  let inString = false
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (inString) {
      if (byte === backslash) at++
      else if (byte === quote) inString = false
    } else if (byte === quote) inString = true
    else if (byte === comma) values++
    else if (byte === colon) fields++
    else if (byte === openBracket || byte === openBrace) {
      values++
      if (++depth > maxJsonDepth) return `is nested more than ${maxJsonDepth} levels deep`
    } else if (byte === closeBracket || byte === closeBrace) depth--
    if (values > maxJsonValues) return `has more than ${maxJsonValues} values`
    if (fields > maxJsonFields) return `has more than ${maxJsonFields} fields`
  }
  return undefined
}
