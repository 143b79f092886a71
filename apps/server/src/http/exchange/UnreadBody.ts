import type { Exchange } from "./Exchange.ts"

/** Longest request body, in bytes: 1 MB. */
export const maxBody = 1024 * 1024

/** What is read and thrown away of a body that was answered before its end. Beyond that the connection is cut. */
const maxDiscarded = 8 * maxBody

/** Milliseconds that a client which neither sends nor leaves may keep such a connection. */
const discardTimeout = 1000

/** The size that the request declares for its body; undefined when it is sent in chunks of unknown number. */
export const declaredLength = ({ request }: Exchange): number | undefined => {
  if (request.headers["transfer-encoding"] !== undefined) return undefined
  return Number(request.headers["content-length"] ?? 0)
}

/** Whether the client waits for `100 Continue` before it sends the body, and has not got it. */
export const awaitsContinue = ({ request }: Exchange): boolean =>
  request.headers.expect !== undefined && !request.readableDidRead

/** Whether the body may go on for longer than Node should read to the end on a connection that is kept. */
export const isEndless = (exchange: Exchange): boolean => {
  if (exchange.request.complete) return false
  const length = declaredLength(exchange)
  return length === undefined || length > maxBody || awaitsContinue(exchange)
}

/**
 * Ends a response whose bytes were all written while the client still sends. Closing at once would reset the connection,
 * and many clients then report that instead of our answer; so we go on reading for a while.
 */
export const endAfterDiscarding = (exchange: Exchange): void => {
  const { request, response } = exchange
  if (awaitsContinue(exchange)) {
    response.end()
    return
  }
  let discarded = 0
  request.on("data", (chunk: Buffer) => {
    discarded += chunk.length
    if (discarded > maxDiscarded) request.socket.destroy()
  })
  request.once("end", () => response.end())
  // Node destroys a connection on which nothing came in for so long.
  request.socket.setTimeout(discardTimeout)
}
