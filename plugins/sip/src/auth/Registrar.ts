import type { Headers, Request } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import * as NameAddr from "../message/NameAddr.ts"
import { decimal, paramOf } from "../message/Syntax.ts"
import * as Uri from "../message/Uri.ts"
import type { Peer } from "../transaction/Peer.ts"

/** Seconds for which a phone may register: at least, and at most, which is also the default. */
const leastSeconds = 60
const mostSeconds = 3600

/** Phones of one user at once; one more takes the place of the oldest. */
const maxPhones = 5

/** A phone that has registered (RFC 3261, 10.3). */
export interface Binding {
  readonly contact: Uri.SipUri
  /** Where its REGISTER came from, which is reached also through NAT. */
  readonly peer: Peer
  /** The host in the user's address. */
  readonly host: string
  readonly callId: string
  readonly number: number
  readonly expiresAt: number
}

/** The answer to a REGISTER. */
export interface Answer {
  readonly status: number
  readonly reason: string
  readonly headers: Headers
}

const answer = (status: number, reason: string, headers: Headers = []): Answer => ({ status, reason, headers })

/** Where the phones of the users are. Times are ms. */
export class Registrar {
  readonly #phones = new Map<string, ReadonlyArray<Binding>>()

  /** The phones of a user, the newest first. */
  phones(user: string, now: number): ReadonlyArray<Binding> {
    return (this.#phones.get(user) ?? []).filter(({ expiresAt }) => expiresAt > now)
  }

  /** A REGISTER of this user, who has been authenticated. */
  register(request: Request, user: string, peer: Peer, now: number): Answer {
    const address = Message.address(request, "to")?.uri
    const contacts = Message.header(request, "contact")?.trim() === "*" ? "*" : Message.addresses(request, "contact")
    if (address?._tag !== "Sip" || contacts === undefined) return answer(400, "Bad Request")
    // The same for known and unknown users.
    if (address.user !== user) return answer(403, "Forbidden")
    const asked = decimal(Message.header(request, "expires") ?? "", 2 ** 31)
    const current = this.phones(user, now)
    if (contacts === "*") {
      if (asked !== 0) return answer(400, "Bad Request")
      this.#phones.delete(user)
      return answer(200, "OK")
    }
    let next = current
    for (const { params, uri } of contacts) {
      if (uri._tag !== "Sip") return answer(400, "Bad Request")
      const seconds = decimal(paramOf(params, "expires") ?? "", 2 ** 31) ?? asked ?? mostSeconds
      if (seconds > 0 && seconds < leastSeconds) {
        return answer(423, "Interval Too Brief", [{ name: "min-expires", value: String(leastSeconds) }])
      }
      const known = next.find((each) => Uri.equal(each.contact, uri))
      const callId = Message.callId(request)
      const number = Message.cseq(request)?.number ?? 0
      // An older request of the same phone, which was overtaken.
      if (known !== undefined && known.callId === callId && number <= known.number) return answer(400, "Bad Request")
      const rest = next.filter((each) => each !== known)
      const expiresAt = now + Math.min(seconds, mostSeconds) * 1000
      const binding: Binding = { contact: uri, peer, host: address.host, callId, number, expiresAt }
      next = seconds === 0 ? rest : [binding, ...rest].slice(0, maxPhones)
    }
    if (next.length === 0) this.#phones.delete(user)
    else this.#phones.set(user, next)
    return answer(
      200,
      "OK",
      next.map(({ contact, expiresAt }) => {
        const expires = String(Math.round((expiresAt - now) / 1000))
        return {
          name: "contact",
          value: NameAddr.text({ name: "", uri: contact, params: [{ name: "expires", value: expires }] })
        }
      })
    )
  }
}
