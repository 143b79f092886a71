/** The printable characters and line breaks of the default alphabet of 3GPP TS 23.038, 6.2.1. */
export const gsmAlphabet: ReadonlySet<string> = new Set(
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)

/** Its extension (6.2.1.1): each takes the place of two characters, which are not separated. */
export const gsmExtension: ReadonlySet<string> = new Set("\f^{}\\[~]|€")
