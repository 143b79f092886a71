import type { Duplex } from "node:stream"

/** Final frames of text and of bytes, from a server, which masks nothing (RFC 6455, 5.2). */
const finalText = 0x81
const finalBytes = 0x82
/** The least length of a payload whose length is written in 16 bits. */
const mediumLength = 126
/** Longer payloads are left to the general sender. */
const mostLength = 4095

/** The header of a frame as characters of latin-1, and how many bytes these would be in UTF-8. */
interface Header {
  readonly text: string
  readonly utf8Bytes: number
}

/** By the length of the payload; each is made when it is first used. */
const headers: Array<Header | undefined> = Array.from({ length: mostLength + 1 }, () => undefined)

const makeHeader = (length: number): Header => {
  const text =
    length < mediumLength
      ? String.fromCharCode(finalText, length)
      : String.fromCharCode(finalText, mediumLength, length >> 8, length & 0xff)
  const header = { text, utf8Bytes: Buffer.byteLength(text) }
  headers[length] = header
  return header
}

/**
 * Writes a text message in ASCII of up to 4095 characters to the stream below a server's socket: as one string, which is
 * one write without buffers, because media messages come 50 times a second and call. False: it is another message, and
 * nothing was written. Only for connections without extensions, of which all other frames are written whole and in order.
 */
export const writeText = (stream: Duplex, message: string): boolean => {
  const { length } = message
  if (length > mostLength) return false
  const { text, utf8Bytes } = headers[length] ?? makeHeader(length)
  const frame = text + message
  // A character beyond ASCII has more bytes in UTF-8.
  if (Buffer.byteLength(frame) !== utf8Bytes + length) return false
  stream.write(frame, "latin1")
  return true
}

/** The same for up to 4095 bytes: one buffer with header and payload takes a plain write; two would take `writev`. */
export const writeBytes = (stream: Duplex, message: Uint8Array): boolean => {
  const { length } = message
  if (length > mostLength) return false
  const start = length < mediumLength ? 2 : 4
  const frame = Buffer.allocUnsafe(start + length)
  frame[0] = finalBytes
  if (start === 2) frame[1] = length
  else {
    frame[1] = mediumLength
    frame.writeUInt16BE(length, 2)
  }
  frame.set(message, start)
  stream.write(frame)
  return true
}
