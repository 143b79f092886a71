import { randomBytes } from "node:crypto"
import { Effect } from "effect"

/** A new secret that signs requests with HMAC-SHA256: 64 hex characters (spec 4.2). */
export const newSecret: Effect.Effect<string> = Effect.sync(() => randomBytes(32).toString("hex"))

/** What may be shown of a secret: three dots and its last 8 characters (spec 2.4). */
export const hintOf = (secret: string): string => `...${secret.slice(-8)}`
