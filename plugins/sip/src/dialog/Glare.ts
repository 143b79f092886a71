import { createHash } from "node:crypto"

/**
 * How long an offer waits after 491, in ms (RFC 3261, 14.1): 2.1 to 4 s on the side that owns the Call-ID, 0 to 2 s on the
 * other, in steps of 10 ms. `salt`: random text of the call, which makes it another time for each call and moment.
 */
export const pauseMs = (ownsCallId: boolean, salt: string, now: number): number => {
  const random = createHash("sha256").update(`${salt} ${now}`).digest().readUInt32BE()
  return ownsCallId ? 2100 + 10 * (random % 191) : 10 * (random % 201)
}
