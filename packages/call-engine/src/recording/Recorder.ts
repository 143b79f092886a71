import type { AudioFormat } from "@svc/providers/Audio"
import { ObjectStore } from "@svc/providers/ObjectStore"
import { Context, Effect, FiberSet, Layer } from "effect"
import type { MediaTap } from "../media/CallMedia.ts"
import { Ticker } from "../media/Ticker.ts"
import { Mp3Encoder } from "./Mp3Encoder.ts"
import { RecordedCall } from "./RecordedCall.ts"
import { storeFile } from "./StoreFile.ts"

/** The recording of a live call. Its methods are synchronous and cost the media path a copy. */
export interface CallRecording {
  /** Takes a frame of the caller. See `MediaTap`. */
  readonly received: MediaTap["received"]
  /** Takes a frame of the agent, in the leg's format. See `MediaTap`. */
  readonly sent: MediaTap["sent"]
  /** Ends the recording. */
  readonly stop: () => void
  /** Length in seconds. */
  readonly seconds: () => number
  /** After `stop`: whether the whole recording is in the store. Never fails. */
  readonly stored: Effect.Effect<boolean>
}

/** How often recordings hand over complete seconds. */
const handOverEvery = "250 millis"

/** The object key of a call's recording. */
export const keyOf = (callId: string): string => `recordings/${callId}.mp3`

/**
 * Records live calls as stereo MP3 into the object store while they run: caller left, agent right, as sent over the
 * wire and timed by the media clock. The encoder gets a second at a time, so that memory does not grow with the call.
 * When the encoder or the store fails or falls behind, the recording ends early with an error in the log; the call
 * continues.
 */
export class Recorder extends Context.Tag("@svc/call-engine/Recorder")<
  Recorder,
  {
    /** Starts a recording. `onFailed`, called at most once, says why it ended before `stop`. */
    readonly begin: (callId: string, format: AudioFormat, onFailed?: (reason: string) => void) => CallRecording
    /** Whether a recording of this process is still writing this object. */
    readonly isWriting: (key: string) => boolean
  }
>() {
  static readonly layer: Layer.Layer<Recorder, never, Mp3Encoder | ObjectStore | Ticker> = Layer.scoped(
    Recorder,
    Effect.gen(function* () {
      const encoder = yield* Mp3Encoder
      const store = yield* ObjectStore
      const { now } = yield* Ticker
      const active = new Set<RecordedCall>()
      const writing = new Set<string>()
      const anyActive = Effect.unsafeMakeLatch()
      const run = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()

      const begin = (callId: string, format: AudioFormat, onFailed?: (reason: string) => void): CallRecording => {
        const key = keyOf(callId)
        const recorded = new RecordedCall(format, now())
        const file = storeFile(store, key)
        /** Ends the recording early and keeps what the store has. */
        const giveUp = (reason: string): void => {
          const isWhole = recorded.hasEnded
          recorded.giveUp()
          file.end()
          const ending = `ends after ${Math.round(recorded.seconds(now()))} s: ${reason}`
          const line = isWhole
            ? Effect.logWarning(`The recording of ${callId} is not in the store yet: ${reason}`)
            : Effect.logError(`The recording of ${callId} ${ending}`)
          run(Effect.annotateLogs(line, "call_id", callId))
          if (!isWhole) onFailed?.(`the recording ${ending}`)
        }
        writing.add(key)
        run(
          file.write.pipe(
            Effect.catchAll(({ reason }) => Effect.sync(() => giveUp(reason))),
            Effect.ensuring(Effect.sync(() => void writing.delete(key)))
          )
        )
        recorded.start(
          encoder.open(format, {
            onBytes: (bytes) => {
              if (!file.add(bytes)) giveUp("the store is too slow")
            },
            onEnd: file.end,
            onFailed: giveUp
          })
        )
        active.add(recorded)
        anyActive.unsafeOpen()
        return {
          received: (bytes, at, isSilence) => recorded.received(bytes, at, isSilence),
          sent: (frame, at) => recorded.sent(frame, at),
          stop: () => {
            active.delete(recorded)
            if (active.size === 0) anyActive.unsafeClose()
            recorded.stop(now())
          },
          seconds: () => recorded.seconds(now()),
          stored: file.stored
        }
      }

      yield* anyActive.await.pipe(
        Effect.zipRight(
          Effect.sync(() => {
            for (const recorded of active) recorded.handOver(now())
          })
        ),
        Effect.delay(handOverEvery),
        Effect.forever,
        Effect.forkScoped
      )

      return { begin, isWriting: (key) => writing.has(key) }
    })
  )
}
