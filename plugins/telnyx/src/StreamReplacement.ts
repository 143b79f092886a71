import { Deferred, Effect, FiberId } from "effect"
import type { CallNetwork } from "./CallNetwork.ts"
import type { CallStream } from "./CallStream.ts"

/** How long the webhook of a hang-up may take after the end of the media, before another stream is requested. */
const hangupGrace = "300 millis"
/** How long Telnyx may take to open a media connection. */
export const startLimit = "5 seconds"
/** How long the webhook of a hang-up may take after Telnyx has said that a call is over. */
const lateHangup = "2 seconds"
/** A stream that replaced another one and breaks within this time, in milliseconds, ends the call as failed. */
const leastStreamMs = 5000

export interface StreamReplacementOptions {
  readonly network: CallNetwork
  readonly stream: CallStream
  readonly callControlId: () => string | undefined
  /** Whether the call has had media, and is not over. */
  readonly isLive: () => boolean
  /** There is no other stream: the call ends. */
  readonly onFailed: (reason: string) => void
}

/** Requests another media stream of a call whose stream has ended, while the call goes on. */
export class StreamReplacement {
  readonly #options: StreamReplacementOptions
  #started = Deferred.unsafeMake<void>(FiberId.none)
  #startedAt = 0
  #hasReplaced = false

  constructor(options: StreamReplacementOptions) {
    this.#options = options
  }

  /** A stream has started. */
  started(): void {
    this.#startedAt = this.#options.network.now()
    Deferred.unsafeDone(this.#started, Effect.void)
  }

  /** The stream has ended: replaces it, unless the call ends meanwhile, or the stream was a replacement that broke at once. */
  readonly afterLoss = (reason: string): Effect.Effect<void> => {
    const isTooSoon = this.#options.network.now() - this.#startedAt < leastStreamMs && this.#hasReplaced
    return Effect.zipRight(
      Effect.sleep(hangupGrace),
      isTooSoon
        ? Effect.sync(() => this.#options.onFailed(`${reason}, twice in ${leastStreamMs / 1000} s`))
        : this.replace(reason)
    )
  }

  /** Requests another stream; without one the call ends. */
  readonly replace = (reason: string): Effect.Effect<void> =>
    Effect.gen(this, function* () {
      const { callControlId, isLive, network, onFailed, stream } = this.#options
      const id = callControlId()
      if (!isLive() || id === undefined) return
      this.#hasReplaced = true
      this.#started = Deferred.unsafeMake<void>(FiberId.none)
      const started = Deferred.await(this.#started)
      const asked = yield* Effect.either(
        Effect.raceFirst(network.commands.command(id, "streaming_start", stream.request()), started)
      )
      if (!isLive()) return
      if (asked._tag === "Left") {
        stream.forget()
        // The call is over at Telnyx, and the webhook says how.
        if (asked.left.outcome === "refused") yield* Effect.sleep(lateHangup)
        return onFailed(`${reason}, and no other could be had: ${asked.left.reason}`)
      }
      const isThere = yield* Effect.timeoutTo(started, {
        duration: startLimit,
        onSuccess: () => true,
        onTimeout: () => false
      })
      if (isThere) network.onStreamReplaced()
      else onFailed(`${reason}, and Telnyx opened no other`)
    })
}
