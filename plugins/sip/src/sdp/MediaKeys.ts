import { randomBytes } from "node:crypto"
import { type CryptoLine, keysOf } from "../rtp/SdesCrypto.ts"
import type { SrtpKeys, SrtpSuite } from "../rtp/SrtpKeys.ts"
import type { Agreed, Encryption } from "./Negotiation.ts"

/** In the order of preference. */
const suites: ReadonlyArray<SrtpSuite> = ["AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32"]

/** The keys of both directions. */
export interface KeyPair {
  readonly outgoing: SrtpKeys
  readonly incoming: SrtpKeys
}

/** The SRTP keys of a call, over all its offers and answers (RFC 4568). */
export class MediaKeys {
  readonly encryption: Encryption
  #offered: ReadonlyArray<CryptoLine> = []
  /** Our key in use, and the destination whose peer has it. */
  #outgoing: { readonly line: CryptoLine; readonly destination: string } | undefined
  #protocol: string | undefined

  constructor(encryption: Encryption) {
    this.encryption = encryption
  }

  /** What an offer of ours has: the key in use, so that it stays; before the first answer one for each suite. */
  offer(isAgreed: boolean): { readonly protocol: string; readonly crypto: ReadonlyArray<CryptoLine> } {
    if (isAgreed) this.#offered = this.#outgoing === undefined ? [] : [this.#outgoing.line]
    else if (this.encryption !== "off" && this.#offered.length === 0) {
      this.#offered = suites.map((suite, index) => ({ tag: index + 1, keys: keysOf(suite, randomBytes(30)) }))
    }
    const required = this.encryption === "required" ? "RTP/SAVP" : "RTP/AVP"
    return { protocol: this.#protocol ?? required, crypto: this.#offered }
  }

  /** The lines of ours that an answer may choose from. */
  get answerable(): ReadonlyArray<CryptoLine> {
    const used = this.#outgoing?.line
    return used === undefined ? this.#offered : [used, ...this.#offered.filter(({ tag }) => tag !== used.tag)]
  }

  /** Takes the answer to an offer of ours. */
  accepted(agreed: Agreed): KeyPair | undefined {
    const line = this.answerable.find(({ tag }) => tag === agreed.srtp?.line.tag)
    return this.#use(agreed, line)
  }

  /**
   * Takes an offer. Our key stays while audio goes to the same destination and its suite is the same: another one cannot know
   * how often our sequence numbers have wrapped (RFC 4568, 7.1.4).
   */
  answered(agreed: Agreed): KeyPair | undefined {
    const { srtp } = agreed
    if (srtp === undefined) return this.#use(agreed, undefined)
    const { keys, tag } = srtp.line
    const kept = this.#outgoing
    const stays =
      kept !== undefined && kept.destination === this.#destinationOf(agreed) && kept.line.keys.suite === keys.suite
    return this.#use(agreed, { tag, keys: stays ? kept.line.keys : keysOf(keys.suite, randomBytes(30)) })
  }

  /** Our line in an answer. */
  get line(): CryptoLine | undefined {
    return this.#outgoing?.line
  }

  #use(agreed: Agreed, line: CryptoLine | undefined): KeyPair | undefined {
    const { srtp } = agreed
    if (srtp === undefined || line === undefined) {
      this.#outgoing = undefined
      this.#protocol = undefined
      return undefined
    }
    this.#outgoing = { line, destination: this.#destinationOf(agreed) }
    this.#protocol = srtp.protocol
    return { outgoing: line.keys, incoming: srtp.line.keys }
  }

  /** On hold the peer may name no destination, and keeps the one before. */
  #destinationOf({ remote }: Agreed): string {
    return remote === null ? (this.#outgoing?.destination ?? "") : `${remote.address} ${remote.port}`
  }
}
