import { randomBytes } from "node:crypto"
import { Effect } from "effect"

/** A new HMAC-SHA256 key: 64 hex characters. */
export const newSecret: Effect.Effect<string> = Effect.sync(() => randomBytes(32).toString("hex"))
