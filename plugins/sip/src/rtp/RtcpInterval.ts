/** The least time between two reports in ms (RFC 3550, 6.2), and half of it before the first. */
const leastMs = 5000
/** `e - 3/2`: makes up for reports that are put off, which keep the average at the wanted one (RFC 3550, 6.3.1). */
const compensation = Math.E - 1.5
/** RTCP's share of the session's bandwidth. */
const share = 0.05
/** Shares of it for senders, where they are few, and for those who only listen. */
const senderShare = 0.25

/**
 * The time until the next report in ms (RFC 3550, 6.3.1 and A.7). For a call of two the least time decides: 2 to 6 s, half
 * of it before the first report.
 */
export const rtcpIntervalMs = (session: {
  readonly members: number
  readonly senders: number
  readonly weSend: boolean
  /** Of a compound packet with the headers of UDP and IP. */
  readonly averageBytes: number
  /** Of the session, in bits per second. */
  readonly bandwidth: number
  readonly isFirst: boolean
  /** From 0 to 1. */
  readonly random: number
}): number => {
  const { members, senders } = session
  const bytesPerMs = (session.bandwidth * share) / 8 / 1000
  const areFew = senders <= members * senderShare
  const sharers = areFew ? (session.weSend ? senders : members - senders) : members
  const part = areFew ? (session.weSend ? senderShare : 1 - senderShare) : 1
  const wanted = (session.averageBytes * sharers) / (bytesPerMs * part)
  const interval = Math.max(session.isFirst ? leastMs / 2 : leastMs, wanted)
  return (interval * (session.random + 0.5)) / compensation
}
