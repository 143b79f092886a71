import { Deferred, Effect, Layer } from "effect"
import { CallControl } from "./CallControl.ts"
import { LiveCalls } from "./LiveCalls.ts"

/** Controls the calls of this node; all others are `not-here`. */
export const LocalCallControl: Layer.Layer<CallControl, never, LiveCalls> = Layer.effect(
  CallControl,
  Effect.map(LiveCalls, (live) => ({
    end: (callId) =>
      Effect.suspend(() => {
        const call = live.find(callId)
        if (call === undefined) return Effect.succeed("not-here" as const)
        // The call has ended for another reason, which its record shows once it is settled.
        if (call.session.isCompleting()) return Effect.as(Deferred.await(call.settled), "not-in-progress" as const)
        if (!call.session.isInProgress()) return Effect.succeed("not-in-progress" as const)
        call.session.end("api")
        return Effect.as(Deferred.await(call.settled), "ended" as const)
      }),
    gather: (callId, rules) => Effect.sync(() => live.find(callId)?.session.gather(rules) ?? "not-here"),
    transfer: (callId, destination) =>
      Effect.gen(function* () {
        const outcome = live.find(callId)?.session.transfer(destination) ?? ("not-here" as const)
        return typeof outcome === "string" ? outcome : { failure: yield* outcome }
      }),
    localProjects: Effect.sync(() => [...new Set(live.all().map(({ project }) => project))]),
    endAllOf: (projects) =>
      Effect.sync(() => {
        for (const { project, session } of live.all()) {
          if (projects.includes(project)) session.end(session.isInProgress() ? "api" : "shutdown")
        }
      })
  }))
)
