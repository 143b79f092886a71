import type { Transform } from "node:stream"
import { constants, createBrotliDecompress, createGunzip, createInflate } from "node:zlib"
import { type Job, maxPageBytes } from "./ReaderMessages.ts"

// What is packed may end early, because only its beginning was fetched.
const zlib = { finishFlush: constants.Z_SYNC_FLUSH }
const decompressors: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(zlib),
  "x-gzip": () => createGunzip(zlib),
  deflate: () => createInflate(zlib),
  br: () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH })
}

const cut = (bytes: Uint8Array, isPart: boolean): Uint8Array => {
  if (!isPart && bytes.length <= maxPageBytes) return bytes
  const end = Math.min(bytes.length, maxPageBytes)
  const part = bytes.subarray(0, end)
  // The rest of the last line could turn its rule into another one.
  return part.subarray(0, Math.max(part.lastIndexOf(0x0a), part.lastIndexOf(0x0d)) + 1)
}

/**
 * Unpacks a robots.txt up to 1 MB, and cuts what is longer at the end of a line: RFC 9309 §2.5 asks for the first 500
 * KiB. `done` gets the bytes, or the reason why there are none.
 */
export const robotsText = (
  { bytes, contentEncoding, isPart }: Pick<Job & { readonly _tag: "Robots" }, "bytes" | "contentEncoding" | "isPart">,
  done: (text: Uint8Array | string) => void
): void => {
  const encoding = contentEncoding?.trim().toLowerCase() ?? ""
  if (encoding === "" || encoding === "identity") {
    done(cut(bytes, isPart))
    return
  }
  const create = Object.hasOwn(decompressors, encoding) ? decompressors[encoding] : undefined
  if (create === undefined) {
    done(`is packed as ${encoding.slice(0, 50)}, which cannot be read`)
    return
  }
  const chunks: Array<Uint8Array> = []
  let length = 0
  let isInvalid = false
  create()
    .on("data", function (this: Transform, chunk: Uint8Array) {
      chunks.push(chunk)
      length += chunk.length
      if (length > maxPageBytes) this.destroy()
    })
    .on("error", () => {
      isInvalid = true
    })
    .on("close", () => done(isInvalid ? `is not valid ${encoding}` : cut(Buffer.concat(chunks), isPart)))
    .end(bytes)
}
