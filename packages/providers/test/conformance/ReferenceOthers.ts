import { Effect } from "effect"
import { DialFailed } from "../../src/Telephony.ts"
import type { OtherBehaviour } from "../../src/testing/Phone.ts"

/** A phone that the reference network can ring. */
export interface Rung {
  readonly ring: () => void
  readonly answer: () => void
  readonly end: () => void
}

interface Registered {
  readonly behaves: OtherBehaviour
  readonly rung: Rung
}

/** The phones that the reference network can ring, by number. */
export class Others {
  readonly #phones = new Map<string, Registered>()

  /** Returns its number. */
  add(behaves: OtherBehaviour, rung: Rung): string {
    const number = `+1202555${1000 + this.#phones.size}`
    this.#phones.set(number, { behaves, rung })
    return number
  }

  /** Rings a phone for 100 ms, or until it is interrupted. */
  readonly call = (
    number: string,
    bugs: { readonly ringsOn: boolean; readonly answersAll: boolean },
    onRinging: () => void = () => {}
  ): Effect.Effect<Rung, DialFailed> =>
    Effect.suspend(() => {
      const found = this.#phones.get(number)
      if (found === undefined) return failed("failed")
      const { behaves, rung } = found
      if (behaves === "busy" && !bugs.answersAll) return failed("busy")
      rung.ring()
      onRinging()
      return Effect.sleep(100).pipe(
        Effect.zipRight(
          behaves === "rings" ? Effect.never : behaves === "declines" ? failed("rejected") : Effect.succeed(rung)
        ),
        Effect.tap(() => Effect.sync(() => rung.answer())),
        Effect.onInterrupt(() => Effect.sync(() => !bugs.ringsOn && rung.end()))
      )
    })
}

const failed = (outcome: DialFailed["outcome"]) => Effect.fail(new DialFailed({ outcome, reason: outcome }))
