import { randomUUID } from "node:crypto"

/** What a client may send: up to 128 letters, digits, and `_ - . :` (covers UUIDs, ULIDs and trace ids). */
const valid = /^[\w.:-]{1,128}$/

/** The `X-Request-Id` of a request: the client's own when it is valid, else a new one. */
export const requestId = (header: string | ReadonlyArray<string> | undefined): string =>
  typeof header === "string" && valid.test(header) ? header : `req_${randomUUID().replaceAll("-", "")}`
