import { createHmac } from "node:crypto"
import * as Dialog from "../dialog/Dialog.ts"
import type { Message, Request, Response } from "../message/Message.ts"
import * as Messages from "../message/Message.ts"
import { paramOf } from "../message/Syntax.ts"
import type { Peer } from "../transaction/Peer.ts"
import { withSource } from "../transaction/ReceivedVia.ts"
import { serverKey } from "../transaction/Transactions.ts"
import { SourceLimits } from "../transport/SourceLimits.ts"
import { parameters } from "./Digest.ts"
import * as DigestServer from "./DigestServer.ts"
import type { Registrar } from "./Registrar.ts"

/**
 * What to do with a message. `Pass.user`: whose password an INVITE has that begins a call. `Drop`: the sender gets no answer
 * at all. `isKnown`: the sender of the REGISTER that is answered has given a right password.
 */
export type Admission =
  | { readonly _tag: "Pass"; readonly user?: string }
  | { readonly _tag: "Drop"; readonly reason?: string }
  | { readonly _tag: "Respond"; readonly response: Response; readonly isKnown?: true }

const pass: Admission = { _tag: "Pass" }
const drop: Admission = { _tag: "Drop" }

/** Challenges to one source: per second, and at once. Challenges to all sources, per second. */
const challengesPerSecond = 5
const challengesAtOnce = 20
const challengesOfAllPerSecond = 200

/** Wrong passwords of one source: at once, and then per second. */
const wrongAtOnce = 10
const wrongPerSecond = 1 / 30

/** Answers to REGISTER that are kept for its retransmissions, at most, and for how many ms. */
const maxAnswers = 2000
const answerMs = 32_000

export interface CallerAuthOptions {
  readonly users: ReadonlyMap<string, string>
  /** The algorithms that phones may use, the preferred one first. */
  readonly algorithms: ReadonlyArray<DigestServer.ServerAlgorithm>
  readonly registrar: Registrar
  /** Random bytes of this process. */
  readonly key: Uint8Array
  /** Random text. */
  readonly random: () => string
  /** Whether a message belongs to a known call or transaction. */
  readonly isKnown: (message: Message) => boolean
}

/**
 * Decides about messages of sources that are not allowed by their address: INVITE and REGISTER need a right answer to a
 * challenge (RFC 3261, 22; RFC 8760), messages of known calls pass, and all else gets no answer. Times are ms.
 */
export class CallerAuth {
  readonly #options: CallerAuthOptions
  readonly #realm: DigestServer.Realm
  #used = DigestServer.noCounts
  readonly #challenges = new SourceLimits(challengesPerSecond, challengesAtOnce)
  readonly #all = new SourceLimits(challengesOfAllPerSecond)
  readonly #wrong = new SourceLimits(wrongPerSecond, wrongAtOnce)
  readonly #answers = new Map<string, { readonly response: Response; readonly at: number }>()

  constructor(options: CallerAuthOptions) {
    this.#options = options
    const { algorithms, key, users } = options
    this.#realm = { realm: "sip", key, password: (username) => users.get(username), algorithms }
  }

  admit(message: Message, peer: Peer, now: number): Admission {
    if (this.#options.isKnown(message)) return pass
    if (message._tag === "Response") return drop
    const isRegister = message.method === "REGISTER"
    const isNew = message.method === "INVITE" && Messages.tag(message, "to") === undefined
    if (!isRegister && !isNew) return drop
    return isRegister ? this.#registered(message, peer, now) : this.#called(message, peer, now)
  }

  #called(request: Request, peer: Peer, now: number): Admission {
    const user = this.#userOf(request, peer, now)
    return typeof user === "string" ? { _tag: "Pass", user } : user
  }

  #registered(request: Request, peer: Peer, now: number): Admission {
    const key = serverKey(request)
    const kept = this.#answers.get(key)
    // A retransmission has the same credentials, which count only once.
    if (kept !== undefined && now - kept.at < answerMs)
      return { _tag: "Respond", response: kept.response, isKnown: true }
    const user = this.#userOf(request, peer, now)
    if (typeof user !== "string") return user
    const { headers, reason, status } = this.#options.registrar.register(request, user, peer, now)
    const response = this.#response(request, peer, status, reason, headers)
    this.#answers.set(key, { response, at: now })
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > maxAnswers && oldest !== undefined) this.#answers.delete(oldest)
    return { _tag: "Respond", response, isKnown: true }
  }

  /** The user whose credentials the request has, or the answer to it. */
  #userOf(request: Request, peer: Peer, now: number): string | Admission {
    const all = Messages.headers(request, "authorization")
    const authorization = all.find((each) => paramOf(parameters(each) ?? [], "realm") === this.#realm.realm) ?? all[0]
    if (authorization === undefined) return this.#challenge(request, peer, now, false)
    if (!this.#wrong.has(peer.address, now)) return { _tag: "Drop", reason: "too many wrong passwords" }
    const attempt = { method: request.method, uri: request.uri, authorization }
    const [used, verdict] = DigestServer.verify(this.#realm, this.#used, attempt, Math.floor(now))
    this.#used = used
    if (verdict === "right") return paramOf(parameters(authorization) ?? [], "username") ?? ""
    if (verdict === "wrong") this.#wrong.take(peer.address, now)
    return this.#challenge(request, peer, now, verdict === "stale")
  }

  #challenge(request: Request, peer: Peer, now: number, stale: boolean): Admission {
    // The source of a datagram may be forged: its owner must not get many answers.
    if (!this.#challenges.take(peer.address, now) || !this.#all.take("", now)) return drop
    const values = DigestServer.challenges(this.#realm, Math.floor(now), this.#options.random().slice(0, 16), stale)
    const headers = values.map((value) => ({ name: "www-authenticate", value }))
    return { _tag: "Respond", response: this.#response(request, peer, 401, "Unauthorized", headers) }
  }

  /** A response without a transaction, whose tag is the same for each retransmission (RFC 3261, 8.2.7). */
  #response(request: Request, peer: Peer, status: number, reason: string, headers: Messages.Headers): Response {
    const tag = createHmac("sha256", this.#options.key).update(serverKey(request)).digest("hex").slice(0, 16)
    return Dialog.respond(withSource(request, peer), status, reason, tag, { headers })
  }
}
