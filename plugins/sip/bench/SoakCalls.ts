import { randomInt } from "node:crypto"
import type { Host } from "@svc/providers/Host"
import type { CallLeg } from "@svc/providers/Telephony"
import { Effect, Random } from "effect"

/** What both sides of SipSoak do. */

export const frame = new Uint8Array(160).fill(0x42)

export const quiet: Pick<Host, "log"> = {
  log: { debug: () => {}, info: () => {}, warning: () => {}, error: () => {} }
}

export const chance = (share: number): Effect.Effect<boolean> => Effect.map(Random.next, (value) => value < share)

/** One message of ten is lost. */
export const lossy = (): boolean => randomInt(10) > 0

/** Hangs up, or in some calls leaves it to the other side, for a while. */
export const hangsUp = (leg: CallLeg, share: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (!(yield* chance(share))) yield* Effect.sleep(yield* Random.nextIntBetween(0, 10_000))
    leg.hangup("done")
  })
