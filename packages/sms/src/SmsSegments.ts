/** The alphabet of GSM 03.38, and the characters of its extension, which count twice. */
const basic = new Set(
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
const extended = new Set("\f^{}\\[~]|€")

/**
 * The number of parts in which carriers send and bill a message: of 160 characters of the GSM alphabet, or of 70 if it
 * has others.
 */
export const segmentsOf = (message: string): number => {
  const characters = [...message]
  const isGsm = characters.every((character) => basic.has(character) || extended.has(character))
  const length = isGsm
    ? characters.reduce((sum, character) => sum + (extended.has(character) ? 2 : 1), 0)
    : message.length
  const [whole, part] = isGsm ? [160, 153] : [70, 67]
  return length <= whole ? 1 : Math.ceil(length / part)
}
