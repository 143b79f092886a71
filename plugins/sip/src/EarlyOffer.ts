import { LegEvents } from "@svc/providers/LegEvents"
import { Deferred, Effect, FiberId } from "effect"
import type { CallContext } from "./CallContext.ts"
import type { CallMedia } from "./CallMedia.ts"

interface OpenFailed {
  readonly message: string
}

/** The audio of a call to us before its answer, for the offer in a reliable 180 (RFC 3262, 5). */
export class EarlyOffer {
  readonly events = new LegEvents()
  readonly #opened = Deferred.unsafeMake<CallMedia, OpenFailed>(FiberId.none)
  readonly #fork: CallContext["fork"]
  /** Once the ports are open: the audio, and our offer. */
  audio: CallMedia | undefined
  sdp: Uint8Array | undefined

  private constructor(fork: CallContext["fork"]) {
    this.#fork = fork
  }

  /** Opens the ports, and then rings with our offer. Audio of the caller is left out until the answer. */
  static open(
    fork: CallContext["fork"],
    openAudio: (emit: LegEvents["emit"]) => Effect.Effect<CallMedia, OpenFailed>,
    isAnswered: () => boolean,
    ring: (sdp: Uint8Array) => void
  ): EarlyOffer {
    const early = new EarlyOffer(fork)
    const opening = openAudio((event) => {
      if (isAnswered()) early.events.emit(event)
    }).pipe(
      Effect.tap((audio) =>
        Effect.sync(() => {
          early.audio = audio
          early.sdp = audio.offer()
          ring(early.sdp)
        })
      ),
      Effect.intoDeferred(early.#opened)
    )
    fork(Effect.asVoid(opening))
    return early
  }

  get opened(): Effect.Effect<CallMedia, OpenFailed> {
    return Deferred.await(this.#opened)
  }

  /** Closes the ports of a call that is not answered. */
  close(): void {
    this.#fork(
      this.opened.pipe(
        Effect.flatMap((audio) => audio.close),
        Effect.ignore
      )
    )
  }
}
