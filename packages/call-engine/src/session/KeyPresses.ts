import type { CallEvent } from "@svc/providers/Telephony"

/** The ways by which a key press may reach us. */
type Source = Extract<CallEvent, { readonly _tag: "Dtmf" }>["source"]

/** How far apart, in milliseconds, the reports of one press by two ways may be: a tone is found later than an event is sent. */
export const sameMs = 500

interface Press {
  readonly key: string
  readonly at: number
  readonly by: Set<Source>
}

/**
 * Tells new key presses from repeats. A carrier may send a press as an RFC 4733 event and leave its tone in the audio as
 * well. One way tells each press once, so a key that comes again by the same way was pressed again; the same key by
 * another way, soon after, is the press that we know.
 */
export class KeyPresses {
  private recent: ReadonlyArray<Press> = []

  /** Whether this is a press not yet told, of a key that phones have (spec 6.3). `at` in milliseconds, never going back. */
  isNew(key: string, source: Source, at: number): boolean {
    if (!/^[0-9*#]$/.test(key)) return false
    this.recent = this.recent.filter((press) => at - press.at <= sameMs)
    const known = this.recent.find((press) => press.key === key && !press.by.has(source))
    if (known !== undefined) {
      known.by.add(source)
      return false
    }
    this.recent = [...this.recent, { key, at, by: new Set([source]) }]
    return true
  }
}
