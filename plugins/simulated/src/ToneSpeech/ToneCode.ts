/**
 * The code of tone speech: text as a sequence of two-tone symbols.
 *
 * A symbol is one byte of UTF-8 and is held for three 20 ms frames. Its high nibble is a tone of 400–1900 Hz, its low
 * nibble one of 2000–3500 Hz, both in steps of 100 Hz; every second symbol is 50 Hz higher. So each frame shows whether
 * it belongs to an even or an odd symbol: no timing is needed, and a doubled letter is decoded as two letters. An
 * utterance is STX, the text, ETX, and a CRC-8 of the text in two symbols.
 */

/** The length of a symbol in frames of 20 ms. */
export const framesPerSymbol = 3

export const startOfText = 0x02
export const endOfText = 0x03

/** Tones are multiples of 50 Hz: bins of the DFT over one frame. `parity` is 0 for even symbols, 1 for odd ones. */
export const lowBin = (byte: number, parity: number): number => 8 + 2 * (byte >> 4) + parity
export const highBin = (byte: number, parity: number): number => 40 + 2 * (byte & 0x0f) + parity

const crcTable = Uint8Array.from({ length: 256 }, (_, start) => {
  let crc = start
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x80) !== 0 ? ((crc << 1) ^ 0x07) & 0xff : (crc << 1) & 0xff
  return crc
})

export const crcStart = 0xff

/** One step of the CRC-8 (polynomial 0x07) over the text's bytes. */
export const crc8 = (crc: number, byte: number): number => crcTable[(crc ^ byte) & 0xff] ?? 0

/** The two symbols of a CRC, which are neither STX nor ETX. */
export const crcHigh = (crc: number): number => 0x40 | (crc >> 4)
export const crcLow = (crc: number): number => 0x50 | (crc & 0x0f)

/** The text that is spoken: control characters become spaces, unpaired surrogates become U+FFFD. */
export const speakable = (text: string): string => text.replace(/[\u0000-\u001f]/g, " ").toWellFormed()

/** The symbols of an utterance, STX and CRC included. */
export const symbolsOf = (text: string): Uint8Array => {
  const bytes = Buffer.from(speakable(text), "utf8")
  const symbols = new Uint8Array(bytes.length + 4)
  symbols[0] = startOfText
  symbols.set(bytes, 1)
  const crc = bytes.reduce(crc8, crcStart)
  symbols[bytes.length + 1] = endOfText
  symbols[bytes.length + 2] = crcHigh(crc)
  symbols[bytes.length + 3] = crcLow(crc)
  return symbols
}
