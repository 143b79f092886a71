import type { CallEvent } from "@svc/providers/Telephony"

/** How a digit reached us: an RFC 4733 event, a tone in the audio, or signaling. */
type Source = Extract<CallEvent, { readonly _tag: "Dtmf" }>["source"]

/**
 * The longest time, in milliseconds, between two reports of one digit: a tone is detected later than an event arrives.
 */
export const duplicateWindowMs = 500

interface Report {
  readonly digit: string
  readonly at: number
  readonly sources: Set<Source>
}

/**
 * Distinguishes new digits from repeated reports. A carrier may send a digit as an RFC 4733 event and also leave its
 * tone in the audio. Each source reports a digit once, so the same digit from the same source was pressed again; the
 * same digit from another source within {@link duplicateWindowMs} is a repeated report.
 */
export class DtmfDeduplicator {
  private recent: ReadonlyArray<Report> = []

  /**
   * Whether this is the first report of a digit, and a key that telephones have. `at` in milliseconds, never
   * decreasing.
   */
  isNew(digit: string, source: Source, at: number): boolean {
    if (!/^[0-9*#]$/.test(digit)) return false
    this.recent = this.recent.filter((report) => at - report.at <= duplicateWindowMs)
    const known = this.recent.find((report) => report.digit === digit && !report.sources.has(source))
    if (known !== undefined) {
      known.sources.add(source)
      return false
    }
    this.recent = [...this.recent, { digit, at, sources: new Set([source]) }]
    return true
  }
}
