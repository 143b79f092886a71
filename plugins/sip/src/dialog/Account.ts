import { createHash } from "node:crypto"
import * as Digest from "../auth/Digest.ts"
import type { Request, Response } from "../message/Message.ts"
import * as Message from "../message/Message.ts"

/** The name and password that a trunk knows us by. */
export interface Account {
  readonly username: string
  readonly password: string
}

/** Credentials that were accepted may be refused once because of an old nonce; more often they are wrong. */
const maxAttempts = 2

const attempts = (request: Request): number =>
  request.headers.filter(({ name }) => name === "authorization" || name === "proxy-authorization").length

/**
 * A request again, with credentials for the challenge in a 401 or 407 and the given number; undefined: the challenge cannot
 * be met, or the credentials were refused. `salt` is random text.
 */
export const authorized = (
  request: Request,
  response: Response,
  account: Account | undefined,
  number: number,
  salt: string
): Request | undefined => {
  const isProxy = response.status === 407
  const challenge = Digest.chosen(Message.headers(response, isProxy ? "proxy-authenticate" : "www-authenticate"))
  const name = isProxy ? "proxy-authorization" : "authorization"
  if (account === undefined || challenge === undefined || attempts(request) >= maxAttempts) return undefined
  if (Message.header(request, name) !== undefined && !challenge.stale) return undefined
  const cnonce = createHash("sha256").update(`${salt} ${challenge.nonce} ${number}`).digest("hex").slice(0, 16)
  const value = Digest.authorization(challenge, {
    ...account,
    method: request.method,
    uri: request.uri,
    count: 1,
    cnonce
  })
  return {
    ...request,
    headers: [
      ...request.headers.flatMap((each) => {
        if (each.name === name || each.name === "via") return []
        return each.name === "cseq" ? [{ name: "cseq", value: `${number} ${request.method}` }] : [each]
      }),
      { name, value }
    ]
  }
}
