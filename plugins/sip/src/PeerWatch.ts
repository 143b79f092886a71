/** How long a peer may send nothing, in ms. */
export interface PeerTimeouts {
  /** Without media: then the peer is asked whether it is there. */
  readonly silence: number
  /** Until it answers: then the call has ended. */
  readonly probe: number
  /** Without any media in a call that should have some: then the call has ended, also when the peer answers. */
  readonly media: number
}

export const usualPeerTimeouts: PeerTimeouts = { silence: 20_000, probe: 10_000, media: 60_000 }

/** What is known of a peer. Times are monotonic ms. */
export interface PeerSigns {
  /** When RTP or RTCP of the peer came last; undefined: never. */
  readonly mediaAt: number | undefined
  /** Since when media of the peer is expected: the answer, or the end of hold; undefined: none is expected now. */
  readonly mediaExpectedSince: number | undefined
  /** When the call was answered, or the peer answered a probe last. */
  readonly aliveAt: number
  /** When the peer was asked whether it is there, and has not answered yet. */
  readonly askedAt: number | undefined
}

/** What is to be done about a peer. `Wait`: to be asked again at that time. */
export type PeerVerdict =
  | { readonly _tag: "Wait"; readonly until: number }
  | { readonly _tag: "Probe" }
  | { readonly _tag: "Ended"; readonly code?: string; readonly reason: string }

/**
 * Whether a peer is still there. One that sends nothing at all is asked by OPTIONS, and ends the call when it does not
 * answer. One that answers, but has sent neither RTP nor RTCP for `media`, although the call is not on hold, ends it too:
 * its user hears nothing any more, or never did.
 */
export const verdict = (signs: PeerSigns, timeouts: PeerTimeouts, now: number): PeerVerdict => {
  const { aliveAt, askedAt, mediaAt, mediaExpectedSince } = signs
  const mediaDue =
    mediaExpectedSince === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(mediaExpectedSince, mediaAt ?? mediaExpectedSince) + timeouts.media
  if (now >= mediaDue) {
    return { _tag: "Ended", reason: `no audio came from the other side for ${Math.round(timeouts.media / 1000)} s` }
  }
  const sign = Math.max(aliveAt, mediaAt ?? aliveAt)
  if (askedAt !== undefined && sign < askedAt) {
    const answerDue = askedAt + timeouts.probe
    return now >= answerDue
      ? { _tag: "Ended", code: "408", reason: "the other side does not answer any more" }
      : { _tag: "Wait", until: Math.min(answerDue, mediaDue) }
  }
  const probeDue = sign + timeouts.silence
  return now >= probeDue ? { _tag: "Probe" } : { _tag: "Wait", until: Math.min(probeDue, mediaDue) }
}
