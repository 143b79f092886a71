import { Effect } from "effect"
import { DialFailed } from "../../src/Telephony.ts"
import type { OtherBehaviour } from "../../src/testing/Phone.ts"

/** The call state of a phone that the reference network rings. */
export interface RingablePhone {
  readonly ring: () => void
  readonly answer: () => void
  readonly end: () => void
}

interface Registered {
  readonly behaves: OtherBehaviour
  readonly phone: RingablePhone
}

/** The phones on the reference network, by number. */
export class ReferencePhones {
  readonly #phones = new Map<string, Registered>()

  /** Adds a phone and returns its number. */
  add(behaves: OtherBehaviour, phone: RingablePhone): string {
    const number = `+1202555${1000 + this.#phones.size}`
    this.#phones.set(number, { behaves, phone })
    return number
  }

  /** Rings a phone for 100 ms before it reacts, or until it is interrupted. */
  readonly call = (
    number: string,
    bugs: { readonly ringsOn: boolean; readonly answersAll: boolean },
    onRinging: () => void = () => {}
  ): Effect.Effect<RingablePhone, DialFailed> =>
    Effect.suspend(() => {
      const found = this.#phones.get(number)
      if (found === undefined) return failed("failed")
      const { behaves, phone } = found
      if (behaves === "busy" && !bugs.answersAll) return failed("busy")
      phone.ring()
      onRinging()
      return Effect.sleep(100).pipe(
        Effect.zipRight(
          behaves === "rings" ? Effect.never : behaves === "declines" ? failed("rejected") : Effect.succeed(phone)
        ),
        Effect.tap(() => Effect.sync(() => phone.answer())),
        Effect.onInterrupt(() => Effect.sync(() => !bugs.ringsOn && phone.end()))
      )
    })
}

const failed = (outcome: DialFailed["outcome"]) => Effect.fail(new DialFailed({ outcome, reason: outcome }))
