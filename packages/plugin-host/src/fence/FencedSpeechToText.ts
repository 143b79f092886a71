import {
  type SpeechEvent,
  type SpeechToText,
  SpeechToTextError,
  type SpeechToTextSession
} from "@svc/providers/SpeechToText"
import { type Context, Duration, Effect, Exit, Scope } from "effect"
import { errorSummary } from "../ErrorSummary.ts"
import { runIsolated } from "./IsolatedFiber.ts"
import { makeCircuit, outcomeOfError } from "./ProviderCircuit.ts"
import { problemOf } from "./Shapes.ts"
import { speechEvent, speechSession } from "./SpeechShapes.ts"

type Service = Context.Tag.Service<SpeechToText>

/** How long opening a session may take. */
export const openDeadline = Duration.seconds(5)
/** How long `finish` may take to emit the rest of the transcript. */
export const finishDeadline = Duration.seconds(5)

/**
 * A fenced speech-to-text provider: timeouts, throws, defects and invalid events become `SpeechToTextError` or the event `Failed`,
 * failures open a circuit breaker, and no event passes after `Failed` or after the scope was closed.
 */
export const fencedSpeechToText = Effect.fnUntraced(function* (speech: Service) {
  const circuit = yield* makeCircuit("speech_to_text")
  const failed = (reason: string) => new SpeechToTextError({ reason: `${speech.id}: ${reason}`, retryable: true })

  const open: Service["open"] = (options) =>
    Effect.gen(function* () {
      if (!circuit.admit()) return yield* failed(circuit.refusal())
      let live = true
      let proven = false
      let isSilent = false
      const onEvent = (given: SpeechEvent) => {
        if (!live) return
        const problem = problemOf(speechEvent, given)
        const event: SpeechEvent =
          problem === undefined ? given : { _tag: "Failed", error: failed(`emitted something invalid: ${problem}`) }
        if (event._tag === "Failed") {
          live = false
          circuit.settle(outcomeOfError(event.error))
        } else if (!proven) {
          proven = true
          circuit.settle({ _tag: "Succeeded" })
        }
        options.onEvent(event)
      }
      const onDefect = (defect: unknown) =>
        onEvent({ _tag: "Failed", error: failed(`crashed: ${errorSummary(defect)}`) })

      // A scope of its own, so that a failed attempt releases what it opened at once. Its release is not awaited.
      const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) =>
        Effect.suspend(() => {
          live = false
          return Effect.forkDaemon(Scope.close(scope, exit))
        })
      )
      const session = yield* runIsolated(
        () => circuit.logs(Scope.extend(speech.open({ ...options, onEvent }), scope)),
        failed
      ).pipe(
        Effect.timeoutFail({
          duration: openDeadline,
          onTimeout: () => {
            isSilent = circuit.opensForSilence
            return failed(`did not open within ${Duration.format(openDeadline)}`)
          }
        }),
        Effect.tap((opened) => {
          const problem = problemOf(speechSession, opened)
          return problem === undefined ? Effect.void : failed(`opened something invalid: ${problem}`)
        }),
        Effect.tapError((error) =>
          Effect.suspend(() => {
            live = false
            circuit.settle(isSilent ? { _tag: "Silent", reason: error.reason } : outcomeOfError(error))
            return Effect.forkDaemon(Scope.close(scope, Exit.fail(error)))
          })
        ),
        Effect.onInterrupt(() => Effect.sync(() => circuit.settle({ _tag: "Abandoned" })))
      )
      circuit.settle({ _tag: "Answered" })

      /** Runs a synchronous method of the session; `otherwise` when the session is over, or it throws. */
      const use = <A>(run: () => A, otherwise: A): A => {
        if (!live) return otherwise
        try {
          return run()
        } catch (defect) {
          onDefect(defect)
          return otherwise
        }
      }
      const fenced: SpeechToTextSession = {
        ...(session.endpointing && { endpointing: session.endpointing }),
        push: (samples) => use(() => session.push(samples), undefined),
        ...(session.flush && { flush: () => use(() => session.flush?.(), undefined) }),
        ...(session.update && { update: (change) => use(() => session.update?.(change) === true, false) }),
        ...(session.voiceActivity && { voiceActivity: (on) => use(() => session.voiceActivity?.(on), undefined) }),
        finish: Effect.suspend(() =>
          live ? runIsolated(() => circuit.logs(session.finish), failed) : Effect.void
        ).pipe(
          Effect.timeoutFail({
            duration: finishDeadline,
            onTimeout: () => failed(`did not finish within ${Duration.format(finishDeadline)}`)
          }),
          Effect.catchAll((error) => Effect.sync(() => onEvent({ _tag: "Failed", error })))
        )
      }
      return fenced
    })

  return {
    id: speech.id,
    capabilities: speech.capabilities,
    health: circuit.health(Effect.suspend(() => speech.health)),
    open
  } satisfies Service
})
