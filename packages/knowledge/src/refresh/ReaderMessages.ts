import type { NewPassage } from "../PassageCollection.ts"

/**
 * The messages between the process and its reader thread: `Ready` once it has started, then one answer to each job,
 * before the next is sent.
 */

export type Job =
  /** Read a page or a sitemap. The bytes are those of the response. */
  | {
      readonly _tag: "Read"
      readonly url: string
      readonly contentType: string | null
      readonly contentEncoding: string | null
      readonly bytes: Uint8Array
    }
  /** Ask a robots.txt about a URL of its host. */
  | {
      readonly _tag: "Robots"
      readonly robotsUrl: string
      readonly contentEncoding: string | null
      readonly bytes: Uint8Array
      /** Whether these bytes are only the beginning of the file. */
      readonly isPart: boolean
      readonly url: string
    }

export type Answer =
  | { readonly _tag: "Ready" }
  | {
      readonly _tag: "Page"
      readonly passages: ReadonlyArray<NewPassage>
      /** Passages of the page that were cut off. */
      readonly truncated: number
    }
  /** Absolute URLs, at most one more of each than are read. */
  | { readonly _tag: "Sitemap"; readonly pages: ReadonlyArray<string>; readonly sitemaps: ReadonlyArray<string> }
  /** `delay`: seconds between two requests that the host asks for. */
  | { readonly _tag: "Robots"; readonly allowed: boolean; readonly delay: number | null }
  /** The reason is the end of a sentence that begins with the URL. */
  | { readonly _tag: "Refused"; readonly reason: string }
  /** The job failed with an error of the program; `error` is for the log. */
  | { readonly _tag: "Failed"; readonly error: string }

/** The name under which robots.txt files address us. */
export const userAgent = "SvcBot"
/** Most bytes of a page or a sitemap, as it is sent and unpacked; a robots.txt is read up to this. */
export const maxPageBytes = 1_000_000
/** The end of a sentence about a page, sitemap or robots.txt that is larger than {@link maxPageBytes}. */
export const tooLarge = "is larger than 1 MB"
/** Most pages that a sitemap may list. */
export const maxPages = 200
/** Most sitemaps that an index may list. */
export const maxSitemaps = 50
