import { createHmac } from "node:crypto"

/** `X-Webhook-Signature` (spec 6.5): over the timestamp (Unix seconds), a dot and the raw body. */
export const signatureOf = (secret: string, timestamp: number, body: string): string =>
  `sha256=${createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")}`
