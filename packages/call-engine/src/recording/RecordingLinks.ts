import { createHmac, timingSafeEqual } from "node:crypto"
import { RecordingLinkInvalid } from "@svc/api/calls/Call"
import { CallId } from "@svc/api/Ids"
import { ObjectStore, type ObjectStoreError } from "@svc/providers/ObjectStore"
import { PublicUrl } from "@svc/urls/PublicUrl"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { keyOf } from "./Recorder.ts"
import { RecordingsRepo } from "./RecordingsRepo.ts"

/** A link that works without a key until it expires. */
export interface SignedLink {
  readonly url: string
  readonly expires_at: Date
}

const isCallId = Schema.is(CallId)

/**
 * Links to recordings: those of the store if it signs links, else links to this server, signed with a secret that all
 * nodes of the installation share.
 */
export class RecordingLinks extends Context.Tag("@svc/call-engine/RecordingLinks")<
  RecordingLinks,
  {
    /** Makes a link to a call's recording that expires after `seconds`. */
    readonly make: (callId: CallId, seconds: number) => Effect.Effect<SignedLink, ObjectStoreError>
    /** Verifies a link to this server and returns its call. `file` is the last segment of the path. */
    readonly open: (file: string, query: URLSearchParams) => Effect.Effect<CallId, RecordingLinkInvalid>
  }
>() {
  static readonly layer: Layer.Layer<RecordingLinks, never, RecordingsRepo | PublicUrl | ObjectStore> = Layer.effect(
    RecordingLinks,
    Effect.gen(function* () {
      const { base } = yield* PublicUrl
      const { presign } = yield* ObjectStore
      const secret = yield* Effect.flatMap(RecordingsRepo, (repo) => repo.secret("recording-links"))
      const signatureOf = (callId: string, expires: string): Buffer =>
        createHmac("sha256", secret).update(`${callId}\n${expires}`).digest()

      return {
        make: Effect.fn("RecordingLinks.make")(function* (callId, seconds) {
          const expires = Math.floor((yield* Clock.currentTimeMillis) / 1000) + seconds
          const expires_at = new Date(expires * 1000)
          if (presign !== undefined) return { url: yield* presign(keyOf(callId), seconds), expires_at }
          const signature = signatureOf(callId, String(expires)).toString("base64url")
          const query = new URLSearchParams({ expires: String(expires), signature })
          return { url: `${base}/v1/recordings/${callId}.mp3?${query}`, expires_at }
        }),
        open: Effect.fn("RecordingLinks.open")(function* (file, query) {
          const callId = file.replace(/\.mp3$/, "")
          const expires = query.get("expires") ?? ""
          const received = Buffer.from(query.get("signature") ?? "", "base64url")
          const expected = signatureOf(callId, expires)
          const isGenuine = received.length === expected.length && timingSafeEqual(received, expected)
          if (!isGenuine || !isCallId(callId)) return yield* new RecordingLinkInvalid()
          if (Number(expires) * 1000 <= (yield* Clock.currentTimeMillis)) return yield* new RecordingLinkInvalid()
          return callId
        })
      }
    })
  )
}
