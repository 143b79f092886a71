import { Effect, FiberSet, type Scope } from "effect"
import type { Directory } from "./Directory.ts"
import { type RingFailed, ring } from "./Ringing.ts"

/** How long a transferred call lasts when its destination answers automatically and cannot hang up. */
export const unattendedDuration = "1 second"

/** How long a destination rings before the transfer fails as not answered. */
export const transferTimeout = "20 seconds"

/** Receives the progress of a transfer. */
export interface TransferListener {
  readonly ringing: () => void
  readonly failed: (state: RingFailed["outcome"], reason: string) => void
  readonly completed: () => void
  /** The destination spoke. */
  readonly heard: (text: string) => void
  /** The destination hung up. */
  readonly ended: () => void
}

export interface OngoingTransfer {
  /** Speaks a text to the destination. */
  readonly say: (text: string) => void
  /** Ends the transfer. The listener receives nothing afterwards. */
  readonly end: () => void
}

export type StartTransfer = (
  call: { readonly callId: string; readonly target: string },
  listener: TransferListener
) => OngoingTransfer

/** Starts transfers to numbers of the network. They end with the scope. */
export const makeTransfers = (
  directory: Directory
): Effect.Effect<(from: string) => StartTransfer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()

    return (from) =>
      ({ callId, target }, listener) => {
        let over = false
        let party: { readonly say: (text: string) => void; readonly end: () => void } | undefined
        const hungUp = (): void => {
          if (over) return
          over = true
          listener.ended()
        }
        const fiber = run(
          ring(directory, { from, to: target, onRinging: listener.ringing }).pipe(
            Effect.timeoutFail({
              duration: transferTimeout,
              onTimeout: (): RingFailed => ({ outcome: "no-answer", reason: "nobody answers" })
            }),
            Effect.matchEffect({
              onFailure: ({ outcome, reason }) => Effect.sync(() => !over && listener.failed(outcome, reason)),
              onSuccess: ({ behaviour, ref, phone }) =>
                Effect.suspend(() => {
                  if (over) return Effect.sync(() => phone.send({ event: "hangup", cause: "canceled" }))
                  listener.completed()
                  if (behaviour !== "manual")
                    return Effect.zipRight(Effect.sleep(unattendedDuration), Effect.sync(hungUp))
                  party = phone.join(ref, { callId, heard: (text) => !over && listener.heard(text), left: hungUp })
                  return Effect.void
                })
            }),
            Effect.asVoid
          )
        )
        return {
          say: (text) => party?.say(text),
          end: () => {
            if (over) return
            over = true
            party?.end()
            fiber.unsafeInterruptAsFork(fiber.id())
          }
        }
      }
  })
