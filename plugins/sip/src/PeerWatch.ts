/** How long a peer may send nothing, in ms. */
export interface PeerTimeouts {
  /** Without media, until the peer is asked whether it is there. */
  readonly silence: number
  /** Without an answer to that question, until the call ends. */
  readonly probe: number
  /** Without any media while media is expected, until the call ends, even if the peer answers. */
  readonly media: number
}

export const usualPeerTimeouts: PeerTimeouts = { silence: 20_000, probe: 10_000, media: 60_000 }

/** The times that show whether a peer is there, in monotonic ms. */
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
 * Whether a peer is still there. A peer that sends nothing is asked by OPTIONS; the call ends when it does not answer. The
 * call also ends when the peer answers, but has sent neither RTP nor RTCP for `media` although the call is not on hold:
 * the caller and the agent cannot hear each other.
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
