import type { Behaviour, ServerMessage, Verdict } from "@svc/providers/SimulatedNetwork"
import type { Effect } from "effect"
import type { RingFailed } from "./Ringing.ts"

/** The phone that registered a number, as calls to the number need it. */
export interface RegisteredPhone {
  readonly send: (message: ServerMessage) => void
  /** Whether it has a call. */
  readonly busy: () => boolean
  /** Waits for the phone's `answer` or `reject` of an incoming call. */
  readonly decision: (ref: string) => Effect.Effect<void, RingFailed>
  /** Connects this phone with another one, whose call was transferred to it. */
  readonly join: (ref: string, other: OtherPhone) => { readonly say: (text: string) => void; readonly end: () => void }
}

/** The phone of the caller who was transferred. */
export interface OtherPhone {
  /** The call that was transferred. */
  readonly callId: string
  readonly heard: (text: string) => void
  /** The destination hung up. */
  readonly left: () => void
}

/** How calls to a number are handled. */
export interface Registration<L extends RegisteredPhone = RegisteredPhone> {
  readonly phone: L
  readonly behaviour: Behaviour
  readonly ring_ms: number
  /** Whether the phone receives the agent's audio as `media`. */
  readonly audio: boolean
  /** What the network reports about who answered, `ms` milliseconds after the answer. */
  readonly answerer?: { readonly verdict: Verdict; readonly ms: number } | undefined
}

/** The registered numbers of the network. The latest registration of a number replaces earlier ones. */
export class Directory<L extends RegisteredPhone = RegisteredPhone> {
  readonly #numbers = new Map<string, Registration<L>>()

  register(numbers: ReadonlyArray<string>, registration: Registration<L>): void {
    for (const number of numbers) this.#numbers.set(number, registration)
  }

  /** Removes all numbers of a phone. */
  unregister(phone: L): void {
    for (const [number, registration] of this.#numbers) if (registration.phone === phone) this.#numbers.delete(number)
  }

  find(number: string): Registration<L> | undefined {
    return this.#numbers.get(number)
  }
}
