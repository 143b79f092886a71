import { Effect, FiberSet, type Scope } from "effect"
import type { Directory } from "./Directory.ts"
import { type RingFailed, ring } from "./Ringing.ts"

/** How long a transferred call lasts when nobody is at the destination to hang up: an automaton answered. */
export const automatonCall = "1 second"

/** When the network gives up on a destination that does not answer. */
export const transferPatience = "20 seconds"

/** What the transferred call is told. */
export interface TransferListener {
  readonly ringing: () => void
  readonly failed: (state: RingFailed["outcome"], reason: string) => void
  readonly completed: () => void
  /** The other party spoke. */
  readonly heard: (text: string) => void
  /** The other party hung up. */
  readonly over: () => void
}

export interface TransferUnderWay {
  /** The phone that was transferred speaks to the other party. */
  readonly say: (text: string) => void
  /** It is gone: nothing is told any more. */
  readonly end: () => void
}

export type StartTransfer = (
  call: { readonly callId: string; readonly target: string },
  listener: TransferListener
) => TransferUnderWay

/** Connects calls to other numbers of the network. Calls that it connects end with the scope. */
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
          listener.over()
        }
        const fiber = run(
          ring(directory, { from, to: target, onRinging: listener.ringing }).pipe(
            Effect.timeoutFail({
              duration: transferPatience,
              onTimeout: (): RingFailed => ({ outcome: "no-answer", reason: "nobody answers" })
            }),
            Effect.matchEffect({
              onFailure: ({ outcome, reason }) => Effect.sync(() => !over && listener.failed(outcome, reason)),
              onSuccess: ({ behaviour, ref, line }) =>
                Effect.suspend(() => {
                  if (over) return Effect.sync(() => line.tell({ event: "hangup", cause: "canceled" }))
                  listener.completed()
                  if (behaviour !== "manual") return Effect.zipRight(Effect.sleep(automatonCall), Effect.sync(hungUp))
                  party = line.join(ref, { callId, heard: (text) => !over && listener.heard(text), left: hungUp })
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
