import type { Exchange } from "./Exchange.ts"

/** Longest request body, in bytes: 1 MB. */
export const maxBody = 1024 * 1024

/** Maximum bytes of a body that are read and discarded after the response. Beyond that the connection is cut. */
const maxDiscarded = 8 * maxBody

/** Idle timeout of such a connection, in ms. */
const discardTimeout = 1000

/** The size that the request declares for its body; undefined when it is sent in chunks of unknown number. */
export const declaredLength = ({ request }: Exchange): number | undefined => {
  if (request.headers["transfer-encoding"] !== undefined) return undefined
  return Number(request.headers["content-length"] ?? 0)
}

/** Whether the client waits for `100 Continue` before it sends the body, and has not got it. */
export const awaitsContinue = ({ request }: Exchange): boolean =>
  request.headers.expect !== undefined && !request.readableDidRead

/** Whether the rest of the body may be too long to read it to its end on a kept-alive connection. */
export const isEndless = (exchange: Exchange): boolean => {
  if (exchange.request.complete) return false
  const length = declaredLength(exchange)
  return length === undefined || length > maxBody || awaitsContinue(exchange)
}

/**
 * Ends a response whose bytes were all written while the client still sends. Closing at once would reset the
 * connection, and many clients would report that instead of the response, so the body is read for a while.
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
  // Node destroys a connection that is idle for this long.
  request.socket.setTimeout(discardTimeout)
}
