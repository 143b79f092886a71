import { generateKeyPairSync, randomUUID, sign } from "node:crypto"
import { Clock, Effect } from "effect"

/** Signs and sends webhooks as Telnyx does. */
export interface WebhookSender {
  /** The public key of the account, in base64. */
  readonly publicKey: string
  /** Sends an event; the status of the answer, 0 without one. */
  readonly send: (
    url: string,
    type: string,
    payload: unknown,
    options?: {
      readonly id?: string
      /** Seconds by which the time of the signature is wrong. */
      readonly late?: number
      /** Changes what is sent after it was signed. */
      readonly forge?: (body: string) => string
    }
  ) => Effect.Effect<number>
}

export const make = (): WebhookSender => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  return {
    publicKey: publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("base64"),
    send: (url, type, payload, { forge = (body: string) => body, id = randomUUID(), late = 0 } = {}) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const occurred_at = new Date(now).toISOString()
        const body = JSON.stringify({
          data: { record_type: "event", event_type: type, id, occurred_at, payload },
          meta: { attempt: 1, delivered_to: url }
        })
        const timestamp = String(Math.floor(now / 1000) - late)
        const signature = sign(null, Buffer.from(`${timestamp}|${body}`), privateKey).toString("base64")
        return yield* Effect.tryPromise((signal) =>
          fetch(url, {
            method: "POST",
            headers: {
              "content-type": "application/json",
              "telnyx-timestamp": timestamp,
              "telnyx-signature-ed25519": signature
            },
            body: forge(body),
            signal
          }).then((response) => response.text().then(() => response.status))
        ).pipe(Effect.orElseSucceed(() => 0))
      })
  }
}
