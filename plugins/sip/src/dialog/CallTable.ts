import type { Request } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import { DueTimes } from "../transaction/DueTimes.ts"
import type { Peer } from "../transaction/Peer.ts"
import * as Call from "./Call.ts"

/** A call, and what it is found by. */
export interface CallEntry {
  readonly call: Call.Call
  readonly callId: string
  /** Our tag. */
  readonly localTag: string
  /** The address that an inbound call came from. */
  readonly source: string | undefined
  /** The INVITE of an inbound call, and the key of its transaction. */
  readonly invite: { readonly request: Request; readonly key: string } | undefined
  /** The branches of our INVITEs by their ids. */
  readonly branches: ReadonlyMap<string, string>
  /** Where the INVITE came from, or went to; undefined: it was not sent yet. */
  readonly flow: Peer | undefined
}

/** Which call sent a request. */
export interface Owner {
  readonly call: string
  readonly id: string
  /** The request without Via. */
  readonly sent: Request
}

/** Owners of requests that are remembered at most; transactions end within a minute. */
const maxOwners = 50_000

/** Calls of ours that are over and remembered, because a phone may answer late. */
const maxEnded = 1000

const dialogKey = (callId: string, localTag: string): string => `${callId}\n${localTag}`

/** What the same INVITE has in common over all its ways (RFC 3261, 8.2.2.2). */
const mergeKey = (invite: Request): string =>
  `${Message.callId(invite)}\n${Message.tag(invite, "from") ?? ""}\n${Message.cseq(invite)?.number ?? 0}`

/** The calls of a user agent by id, by dialog, by the transactions of their INVITE and by the branches of their requests. */
export class CallTable {
  readonly #entries = new Map<string, CallEntry>()
  /** Ids of calls by Call-ID and our tag. */
  readonly #dialogs = new Map<string, string>()
  /** Ids of inbound calls by the merge key of their INVITE. */
  readonly #merged = new Map<string, string>()
  /** Ids of inbound calls by the key of the transaction of their INVITE. */
  readonly #invites = new Map<string, string>()
  readonly #owners = new Map<string, Owner>()
  readonly #perSource = new Map<string, number>()
  readonly #times = new DueTimes()
  /** Dialog keys of outbound calls that are over. */
  readonly #ended = new Set<string>()

  get size(): number {
    return this.#entries.size
  }

  /** When the timer of a call is due, in ms; infinite: never. */
  get dueAt(): number {
    return this.#times.earliest
  }

  /** The calls whose timers are due, each once; `update` sets their next time. */
  takeDue(now: number): ReadonlyArray<string> {
    return this.#times.take(now)
  }

  get(id: string): CallEntry | undefined {
    return this.#entries.get(id)
  }

  add(id: string, entry: CallEntry): void {
    const { callId, invite, localTag, source } = entry
    this.#entries.set(id, entry)
    this.#times.set(id, Call.dueAt(entry.call))
    this.#dialogs.set(dialogKey(callId, localTag), id)
    if (invite !== undefined) {
      this.#invites.set(invite.key, id)
      this.#merged.set(mergeKey(invite.request), id)
    }
    if (source !== undefined) this.#perSource.set(source, this.countFrom(source) + 1)
  }

  /** Keeps the next state of a call; one that is over is forgotten. */
  update(id: string, call: Call.Call): void {
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    this.#times.set(id, Call.dueAt(call))
    if (call._tag === "Over") this.#forget(id, entry)
    else this.#entries.set(id, { ...entry, call })
  }

  /** The call of a message: our tag is in To of requests of the peer, in From of responses to us. */
  ofDialog(message: Message.Message, ours: "to" | "from"): string | undefined {
    return this.#dialogs.get(dialogKey(Message.callId(message), Message.tag(message, ours) ?? ""))
  }

  /** Whether there is a call with this Call-ID and tag of ours. */
  hasDialog(callId: string, localTag: string): boolean {
    return this.#dialogs.has(dialogKey(callId, localTag))
  }

  /** Whether a response is of a call that we placed, also when it is over. */
  hasPlaced(response: Message.Message): boolean {
    const key = dialogKey(Message.callId(response), Message.tag(response, "from") ?? "")
    return this.#dialogs.has(key) || this.#ended.has(key)
  }

  /** The call that the transaction of an INVITE has begun. */
  ofInvite(key: string): string | undefined {
    return this.#invites.get(key)
  }

  /** Whether the same INVITE has begun a call on another way (RFC 3261, 8.2.2.2). */
  isMerged(invite: Request): boolean {
    return this.#merged.has(mergeKey(invite))
  }

  /** Calls of this address. */
  countFrom(source: string): number {
    return this.#perSource.get(source) ?? 0
  }

  /** Remembers who sent a request to `peer`, until its transaction has ended. */
  own(branch: string, owner: Owner, peer: Peer): void {
    this.#owners.set(branch, owner)
    const entry = this.#entries.get(owner.call)
    if (entry !== undefined && owner.sent.method === "INVITE") {
      const branches = new Map([...entry.branches, [owner.id, branch]])
      const flow = entry.invite === undefined ? peer : entry.flow
      this.#entries.set(owner.call, { ...entry, branches, flow })
    }
    const [oldest] = this.#owners.keys()
    if (this.#owners.size > maxOwners && oldest !== undefined) this.#owners.delete(oldest)
  }

  owner(branch: string): Owner | undefined {
    return this.#owners.get(branch)
  }

  disown(branch: string): void {
    this.#owners.delete(branch)
  }

  #forget(id: string, { branches, callId, invite, localTag, source }: CallEntry): void {
    this.#entries.delete(id)
    this.#dialogs.delete(dialogKey(callId, localTag))
    for (const branch of branches.values()) this.#owners.delete(branch)
    if (invite !== undefined) {
      this.#invites.delete(invite.key)
      this.#merged.delete(mergeKey(invite.request))
    }
    if (invite === undefined) {
      this.#ended.add(dialogKey(callId, localTag))
      const [oldest] = this.#ended
      if (this.#ended.size > maxEnded && oldest !== undefined) this.#ended.delete(oldest)
    }
    if (source === undefined) return
    const left = this.countFrom(source) - 1
    if (left > 0) this.#perSource.set(source, left)
    else this.#perSource.delete(source)
  }
}
