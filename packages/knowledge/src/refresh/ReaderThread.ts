import { createRequire } from "node:module"
import { constants, platform, setPriority } from "node:os"
import { parentPort } from "node:worker_threads"
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib"
import { PassageCollection, passagesOf } from "../PassageCollection.ts"
import { htmlText } from "./HtmlText.ts"
import { type Answer, type Job, maxPageBytes, tooLarge, userAgent } from "./ReaderMessages.ts"
import { robotsText } from "./RobotsText.ts"
import { readSitemap } from "./Sitemap.ts"

/**
 * The reader thread: reads what other servers sent, for all refreshes of the process. It has a memory limit, and is ended
 * when a job takes too long, so everything here may be slow or fail.
 */

interface Robots {
  readonly isAllowed: (url: string, userAgent: string) => boolean | undefined
  readonly getCrawlDelay: (userAgent: string) => number | undefined
}

// Its types do not describe its default export.
const parseRobots: (url: string, text: string) => Robots = createRequire(import.meta.url)("robots-parser")

const refused = (reason: string): Answer => ({ _tag: "Refused", reason })

const decompressors: Readonly<Record<string, (bytes: Uint8Array, options: { maxOutputLength: number }) => Uint8Array>> =
  {
    gzip: gunzipSync,
    "x-gzip": gunzipSync,
    deflate: inflateSync,
    br: brotliDecompressSync
  }

/** Unpacks by the name of an encoding, which `identity` leaves as it is. */
const unpack = (bytes: Uint8Array, header: string | null): Uint8Array | Answer => {
  const encoding = header?.trim().toLowerCase() ?? ""
  if (encoding === "" || encoding === "identity") return bytes
  const decompress = Object.hasOwn(decompressors, encoding) ? decompressors[encoding] : undefined
  if (decompress === undefined) return refused(`is packed as ${encoding.slice(0, 50)}, which cannot be read`)
  try {
    return decompress(bytes, { maxOutputLength: maxPageBytes })
  } catch (error) {
    const isLarge = error instanceof RangeError && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE"
    return isLarge ? refused(`${tooLarge} when it is unpacked`) : refused(`is not valid ${encoding}`)
  }
}

const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b

/** The encoding of a text: by its byte order mark, the header, or what its first 1024 bytes declare. */
const charsetOf = (bytes: Uint8Array, header: string): string => {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return "utf-8"
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be"
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le"
  const inHeader = /charset\s*=\s*"?([^\s";,]+)/i.exec(header)?.[1]
  if (inHeader !== undefined) return inHeader
  const start = Buffer.from(bytes.subarray(0, 1024)).toString("latin1")
  const declared = /<meta\s[^>]{0,200}?charset\s*=\s*["']?\s*([^\s"'/>;]+)/i.exec(start)?.[1]
  return declared ?? /^<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([^"']+)/i.exec(start)?.[1] ?? "utf-8"
}

const decode = (bytes: Uint8Array, header: string): string | Answer => {
  const charset = charsetOf(bytes, header)
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return refused(`is in the encoding ${charset.slice(0, 50)}, which is not known`)
  }
}

const page = (url: string, title: string | null, text: string): Answer => {
  const collection = new PassageCollection()
  const sources = [{ heading: title, text: text.replaceAll("\u0000", ""), url }]
  for (const passage of passagesOf(sources)) if (passage !== undefined) collection.add(passage)
  if (collection.passages.length === 0) {
    return refused("has no text to read; pages that a script builds in the browser cannot be read")
  }
  return { _tag: "Page", passages: collection.passages, truncated: collection.truncated }
}

const read = ({ bytes, contentEncoding, contentType, url }: Job & { readonly _tag: "Read" }): Answer => {
  const header = contentType ?? ""
  const type = header.split(";")[0]?.trim().toLowerCase() ?? ""
  const sent = unpack(bytes, contentEncoding)
  if ("_tag" in sent) return sent
  // A sitemap that is stored packed has the type of an archive.
  const isArchive = /^application\/(x-)?gzip$/.test(type)
  const whole = isArchive && isGzip(sent) ? unpack(sent, "gzip") : sent
  if ("_tag" in whole) return whole
  if (whole.length > maxPageBytes) return refused(tooLarge)
  const isXml = isArchive || type === "application/xml" || type === "text/xml"
  const isHtml = type === "text/html" || type === "application/xhtml+xml"
  if (!isXml && !isHtml && !/^text\/(plain|markdown|x-markdown)$/.test(type)) {
    const what = type === "" ? "has no content type" : `has the content type ${type.slice(0, 100)}`
    return refused(`${what}; only HTML, plain text, Markdown and XML sitemaps can be read`)
  }
  const text = decode(whole, header)
  if (typeof text !== "string") return text
  if (isXml) return readSitemap(text, url)
  if (!isHtml) return page(url, null, text)
  const { text: markdown, title } = htmlText(text)
  return page(url, title, markdown)
}

const askRobots = ({ robotsUrl, url }: Job & { readonly _tag: "Robots" }, text: Uint8Array): Answer => {
  const robots = parseRobots(robotsUrl, new TextDecoder().decode(text))
  const delay = robots.getCrawlDelay(userAgent)
  return {
    _tag: "Robots",
    allowed: robots.isAllowed(url, userAgent) !== false,
    delay: delay === undefined || !Number.isFinite(delay) ? null : delay
  }
}

const answerOf = (work: () => Answer): Answer => {
  try {
    return work()
  } catch (error) {
    // It is nested too deeply, or the stack overflows.
    if (error instanceof RangeError) return refused("is nested too deeply to be read")
    return { _tag: "Failed", error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

// Calls have priority. On Linux this sets the priority of this thread alone; on other systems it would change the whole
// process.
if (platform() === "linux") setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)
const send = (answer: Answer) => parentPort?.postMessage(answer)
parentPort?.on("message", (job: Job) => {
  if (job._tag === "Read") send(answerOf(() => read(job)))
  else robotsText(job, (text) => send(typeof text === "string" ? refused(text) : answerOf(() => askRobots(job, text))))
})
send({ _tag: "Ready" })
