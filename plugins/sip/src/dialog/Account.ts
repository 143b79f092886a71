import { createHash } from "node:crypto"
import * as Digest from "../auth/Digest.ts"
import type { Headers, Request, Response } from "../message/Message.ts"
import * as Message from "../message/Message.ts"

/** The name and password that a trunk knows us by. */
export interface Account {
  readonly username: string
  readonly password: string
}

/** What was sent to challenges in a call or registration; of each list the latest 16. */
export interface SentCredentials {
  /** How often each nonce was used (`nc`, RFC 7616, 3.4). */
  readonly uses: ReadonlyArray<{ readonly nonce: string; readonly count: number }>
  /** The CSeq numbers of requests with credentials, and how often each of these requests was sent so. */
  readonly attempts: ReadonlyArray<{ readonly number: number; readonly count: number }>
}

export const noCredentials: SentCredentials = { uses: [], attempts: [] }

/** How often a request is sent with credentials: for a proxy, for the server, and with a new nonce. */
const maxAttempts = 3

const isCredentials = ({ name }: Headers[number]): boolean => name === "authorization" || name === "proxy-authorization"

/** The headers that the ACK of a 2xx takes from its INVITE (RFC 3261, 13.2.2.4). */
export const credentialsOf = (invite: Request): Headers => invite.headers.filter(isCredentials)

/**
 * A request again, with credentials for the challenge in a 401 or 407 and the given number, and what was sent now; undefined:
 * the challenge cannot be met, or the credentials were refused. `salt` is random text.
 */
export const authorized = (
  is: { readonly account: Account | undefined; readonly salt: string; readonly credentials: SentCredentials },
  request: Request,
  response: Response,
  number: number
): readonly [Request, SentCredentials] | undefined => {
  const { account, credentials, salt } = is
  const isProxy = response.status === 407
  const challenge = Digest.chosen(Message.headers(response, isProxy ? "proxy-authenticate" : "www-authenticate"))
  const name = isProxy ? "proxy-authorization" : "authorization"
  const attempts = credentials.attempts.find((each) => each.number === Message.cseq(request)?.number)?.count ?? 0
  if (account === undefined || challenge === undefined || attempts >= maxAttempts) return undefined
  if (Message.header(request, name) !== undefined && !challenge.stale) return undefined
  const { nonce } = challenge
  const count = (credentials.uses.find((each) => each.nonce === nonce)?.count ?? 0) + 1
  const cnonce = createHash("sha256").update(`${salt} ${nonce} ${number}`).digest("hex").slice(0, 16)
  const { method, uri } = request
  const value = Digest.authorization(challenge, { ...account, method, uri, count, cnonce })
  const again: Request = {
    ...request,
    headers: [
      ...request.headers.flatMap((each) => {
        if (each.name === name || each.name === "via") return []
        return each.name === "cseq" ? [{ name: "cseq", value: `${number} ${method}` }] : [each]
      }),
      { name, value }
    ]
  }
  const sent = {
    uses: [...credentials.uses.filter((each) => each.nonce !== nonce), { nonce, count }].slice(-16),
    attempts: [...credentials.attempts, { number, count: attempts + 1 }].slice(-16)
  }
  return [again, sent]
}
