import { gsmAlphabet, gsmExtension } from "@svc/api/sms/GsmAlphabet"

/** The places in a message of one part, and in each of several, which lose some to the header that joins them. */
const places = { gsm: [160, 153], ucs2: [70, 67] } as const

/**
 * The number of parts in which carriers send and bill a message: of 160 characters of the GSM alphabet, or of 70 UTF-16
 * units if it has others. A character of two places or units is not divided between parts (3GPP TS 23.040, 9.2.3.24.1).
 */
export const segmentsOf = (message: string): number => {
  const characters = [...message]
  const isGsm = characters.every((character) => gsmAlphabet.has(character) || gsmExtension.has(character))
  const [whole, part] = isGsm ? places.gsm : places.ucs2
  let total = 0
  let parts = 1
  let filled = 0
  for (const character of characters) {
    const size = isGsm ? (gsmExtension.has(character) ? 2 : 1) : character.length
    total += size
    if (filled + size > part) {
      parts += 1
      filled = 0
    }
    filled += size
  }
  return total <= whole ? 1 : parts
}
