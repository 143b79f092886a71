import type { Behaviour, ServerMessage } from "@svc/providers/SimulatedNetwork"
import type { Effect } from "effect"
import type { RingFailed } from "./Ringing.ts"

/** What ringing needs of the phone that registered a number. */
export interface RegisteredLine {
  readonly tell: (message: ServerMessage) => void
  /** Whether it carries a call. */
  readonly busy: () => boolean
  /** Waits for the phone's `answer` or `reject` of a call that it was told of. */
  readonly decision: (ref: string) => Effect.Effect<void, RingFailed>
  /** The phone talks to another phone, which was transferred to it. */
  readonly join: (ref: string, other: OtherPhone) => { readonly say: (text: string) => void; readonly end: () => void }
}

/** A phone that was transferred. */
export interface OtherPhone {
  /** The call that was transferred. */
  readonly callId: string
  readonly heard: (text: string) => void
  /** This side hung up. */
  readonly left: () => void
}

/** What calls to a number meet. */
export interface Registration<L extends RegisteredLine = RegisteredLine> {
  readonly line: L
  readonly behaviour: Behaviour
  readonly ring_ms: number
  /** The phone wants the agent's audio. */
  readonly audio: boolean
}

/** The numbers that phones of the network have registered. The latest registration of a number counts. */
export class Directory<L extends RegisteredLine = RegisteredLine> {
  readonly #numbers = new Map<string, Registration<L>>()

  register(numbers: ReadonlyArray<string>, registration: Registration<L>): void {
    for (const number of numbers) this.#numbers.set(number, registration)
  }

  /** The phone is gone, and its numbers with it. */
  forget(line: L): void {
    for (const [number, registration] of this.#numbers) if (registration.line === line) this.#numbers.delete(number)
  }

  find(number: string): Registration<L> | undefined {
    return this.#numbers.get(number)
  }
}
