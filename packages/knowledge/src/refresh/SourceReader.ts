import { UrlSafety } from "@svc/urls/UrlSafety"
import { Clock, Context, Data, Effect, Either, Layer } from "effect"
import { type NewPassages, PassageCollection } from "../PassageCollection.ts"
import { type Fetched, PageFetcher, type Purpose } from "./PageFetcher.ts"
import { PageReader } from "./PageReader.ts"
import { type Answer, maxPages, maxSitemaps, userAgent } from "./ReaderMessages.ts"
import { refusalWords, shownPage } from "./SourceFaults.ts"

/** What a source says. */
export interface ReadSource extends NewPassages {
  /** Pages that could not be read now, and whose passages stay. */
  readonly keep: ReadonlyArray<string>
  /** What could not be read, a sentence for each; empty when all was. */
  readonly problems: ReadonlyArray<string>
}

/** A source, or a page of one, that could not be read. The reason is a sentence for the owner of the base. */
export class Unreadable extends Data.TaggedError("Unreadable")<{
  readonly reason: string
  /** Whether the page is gone, or we may not read it: what it said before is not kept. */
  readonly isGone: boolean
  /** Whether it ended the reader thread: by its time or memory, or by an error. */
  readonly isHarmful: boolean
  /** What is wrong with the host of the URL, if it is that; the end of a sentence about any URL of the host. */
  readonly hostFault: string | null
}> {}

const maxRedirects = 5
/** Milliseconds after which no more pages of a source are read. */
const maxMillis = 10 * 60_000
/** The longest pause between two requests that a host gets. */
const maxDelayMs = 10_000
/** Pages that may end the reader thread; after that no more pages are read. */
const maxHarmful = 3

const unreadable = (
  url: string,
  reason: string,
  rest: Partial<Pick<Unreadable, "isGone" | "isHarmful" | "hostFault">> = {}
) =>
  new Unreadable({
    reason: `${shownPage(url)} ${reason}`,
    isGone: false,
    isHarmful: false,
    hostFault: null,
    ...rest
  })

type Content = Exclude<Answer, { readonly _tag: "Ready" | "Robots" | "Refused" | "Failed" }>

/** What a robots.txt says; `open` when there is none. */
type Robots =
  | { readonly _tag: "Open" }
  | { readonly _tag: "Closed"; readonly reason: string }
  | { readonly _tag: "Rules"; readonly fetched: Fetched }

const siteOf = (url: string): string => new URL(url).host.replace(/^www\./, "")

/**
 * Reads the source of a base: a page, or the pages of a sitemap. Every request, also after a redirect, is checked against
 * the rules for URLs and the host's robots.txt (RFC 9309), and waits for its turn at the host.
 */
export class SourceReader extends Context.Tag("@svc/knowledge/SourceReader")<
  SourceReader,
  {
    /** `isWanted` is asked before each page; reading ends without a result when it says no. */
    readonly read: (url: string, isWanted: Effect.Effect<boolean>) => Effect.Effect<ReadSource, Unreadable>
  }
>() {
  static readonly layer: Layer.Layer<SourceReader, never, PageFetcher | PageReader | UrlSafety> = Layer.effect(
    SourceReader,
    Effect.gen(function* () {
      const safety = yield* UrlSafety
      const fetcher = yield* PageFetcher
      const reader = yield* PageReader

      /** Reads one source. The robots.txt of a host is requested once. */
      const session = () => {
        const known = new Map<string, Robots>()
        const delays = new Map<string, number>()

        /** Follows redirects. `admit` is asked about each URL before it is requested. */
        const follow = (start: string, purpose: Purpose, admit: (url: URL) => Effect.Effect<void, Unreadable>) =>
          Effect.gen(function* () {
            let url = start
            for (let hop = 0; hop <= maxRedirects; hop++) {
              const checked = yield* Effect.mapError(safety.inspect(url), ({ fault }) =>
                unreadable(url, refusalWords(fault))
              )
              yield* admit(checked)
              const fetched = yield* Effect.mapError(
                fetcher.get(checked, delays.get(checked.host) ?? 0, purpose),
                ({ isOfHost, reason }) => unreadable(url, reason, { hostFault: isOfHost && hop === 0 ? reason : null })
              )
              const isRedirect = [301, 302, 303, 307, 308].includes(fetched.status)
              if (!isRedirect) return { url, fetched }
              const { location } = fetched
              if (location === null || !URL.canParse(location, url)) {
                return yield* unreadable(url, "redirects to an address that is not valid")
              }
              url = new URL(location, url).href
            }
            return yield* unreadable(start, `redirects more than ${maxRedirects} times`)
          })

        const robotsOf = (host: URL): Effect.Effect<Robots> => {
          const url = new URL("/robots.txt", host).href
          const closed = (reason: string, hostFault: string | null = null): Robots => ({
            _tag: "Closed",
            reason: hostFault ?? `may not be read: its robots.txt could not be requested (${reason})`
          })
          return Effect.match(
            follow(url, "robots", () => Effect.void),
            {
              onFailure: ({ hostFault, reason }) => closed(reason, hostFault),
              onSuccess: ({ fetched }): Robots => {
                const { status } = fetched
                if (status >= 500) return closed(`status ${status}`)
                return status >= 200 && status < 300 ? { _tag: "Rules", fetched } : { _tag: "Open" }
              }
            }
          )
        }

        const admit = (url: URL) =>
          Effect.gen(function* () {
            const robots = known.get(url.origin) ?? (yield* robotsOf(url))
            known.set(url.origin, robots)
            if (robots._tag === "Open") return
            if (robots._tag === "Closed") return yield* unreadable(url.href, robots.reason)
            const robotsUrl = new URL("/robots.txt", url).href
            const { bytes, contentEncoding, isPart } = robots.fetched
            const answer = yield* Effect.mapError(
              reader.run({ _tag: "Robots", robotsUrl, contentEncoding, bytes, isPart, url: url.href }),
              ({ reason }) => unreadable(robotsUrl, reason, { isHarmful: true })
            )
            if (answer._tag !== "Robots") {
              return yield* unreadable(robotsUrl, answer._tag === "Refused" ? answer.reason : "cannot be read")
            }
            if (answer.delay !== null) delays.set(url.host, Math.min(maxDelayMs, answer.delay * 1000))
            if (!answer.allowed) {
              return yield* unreadable(url.href, `may not be read: the robots.txt of its host excludes ${userAgent}`, {
                isGone: true
              })
            }
          })

        const contentOf = (url: string, { bytes, contentEncoding, contentType, status }: Fetched) =>
          Effect.gen(function* () {
            if (status < 200 || status >= 300) {
              const isGone = status === 404 || status === 410
              return yield* unreadable(url, `answered with status ${status}`, { isGone })
            }
            const answer = yield* Effect.mapError(
              reader.run({ _tag: "Read", url, contentType, contentEncoding, bytes }),
              ({ reason }) => unreadable(url, reason, { isHarmful: true })
            )
            if (answer._tag === "Refused") return yield* unreadable(url, answer.reason)
            if (answer._tag !== "Page" && answer._tag !== "Sitemap") return yield* unreadable(url, "cannot be read")
            return answer
          })

        return (url: string) =>
          Effect.flatMap(follow(url, "page", admit), ({ fetched, url: last }) => contentOf(last, fetched))
      }

      const tooMany = (url: string) =>
        unreadable(
          url,
          `lists more than ${maxPages} pages, which is the most that can be read. Give a smaller sitemap, or divide it over several knowledge bases`
        )

      /** The pages of a sitemap, or of those in an index. */
      const pagesOf = Effect.fnUntraced(function* (
        url: string,
        { pages, sitemaps }: Content & { readonly _tag: "Sitemap" },
        load: ReturnType<typeof session>
      ) {
        if (sitemaps.length > maxSitemaps) {
          return yield* unreadable(url, `lists more than ${maxSitemaps} sitemaps, which is the most that can be read`)
        }
        const all = new Set(pages)
        for (const sitemap of sitemaps) {
          if (siteOf(sitemap) !== siteOf(url)) {
            return yield* unreadable(sitemap, "is listed by a sitemap of another host and is not read")
          }
          const content = yield* load(sitemap)
          if (content._tag !== "Sitemap" || content.sitemaps.length > 0) {
            return yield* unreadable(sitemap, "is listed as a sitemap, but is not a sitemap of pages")
          }
          for (const page of content.pages) all.add(page)
          if (all.size > maxPages) break
        }
        if (all.size > maxPages) return yield* tooMany(url)
        return [...all]
      })

      const readPages = Effect.fnUntraced(function* (
        site: string,
        pages: ReadonlyArray<string>,
        load: ReturnType<typeof session>,
        isWanted: Effect.Effect<boolean>
      ) {
        const collection = new PassageCollection()
        const keep: Array<string> = []
        const problems: Array<string> = []
        const end = (yield* Clock.currentTimeMillis) + maxMillis
        let count = 0
        let harmful = 0
        for (const page of pages) {
          if (!(yield* isWanted)) break
          const isLate = (yield* Clock.currentTimeMillis) > end
          const work =
            siteOf(page) === site
              ? isLate || harmful >= maxHarmful
                ? unreadable(
                    page,
                    isLate
                      ? "was not read within 10 minutes"
                      : `was not read, because ${maxHarmful} pages before it could not be read within the limits of time and memory`
                  )
                : load(page)
              : unreadable(page, "is on another host than the sitemap and is not read", { isGone: true })
          const content = yield* Effect.either(work)
          if (Either.isRight(content) && content.right._tag === "Page") {
            // A redirect leads elsewhere, but the page is the one that is listed.
            const passages = content.right.passages.map((passage) => ({ ...passage, source_url: page }))
            collection.addAll({ passages, truncated: content.right.truncated })
            count++
            continue
          }
          const problem = Either.isLeft(content) ? content.left : unreadable(page, "is a sitemap within a sitemap")
          problems.push(problem.reason)
          if (!problem.isGone) keep.push(page)
          if (problem.isHarmful) harmful++
        }
        return { passages: collection.passages, truncated: collection.truncated, keep, problems, count }
      })

      return {
        read: Effect.fn("SourceReader.read")(function* (url, isWanted) {
          const load = session()
          const content = yield* load(url)
          if (content._tag === "Page") {
            const passages = content.passages.map((passage) => ({ ...passage, source_url: url }))
            return { passages, truncated: content.truncated, keep: [], problems: [] }
          }
          const pages = yield* pagesOf(url, content, load)
          if (pages.length === 0) return yield* unreadable(url, "lists no pages")
          const { count, ...read } = yield* readPages(siteOf(url), pages, load, isWanted)
          if (count === 0) {
            return yield* unreadable(
              url,
              `lists ${pages.length} pages, none of which could be read: ${read.problems[0]}`
            )
          }
          return read
        })
      }
    })
  )
}
