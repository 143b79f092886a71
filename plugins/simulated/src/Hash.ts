/** FNV-1a over the UTF-16 code units of a text: 32 bits. */
export const hashOf = (text: string): number => {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return value >>> 0
}
