import { createHmac } from "node:crypto"

/** `X-Webhook-Signature`: HMAC-SHA256 of the timestamp (Unix seconds), a dot and the raw body. */
export const signatureOf = (secret: string, timestamp: number, body: string): string =>
  `sha256=${createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")}`
