import { Projects } from "@svc/auth/Projects"
import { Cause, Effect, Layer } from "effect"
import { CallEngine } from "./CallEngine.ts"

/** How often we look for deletions by others; with the query itself well under the 2 s that are promised. */
const interval = "1 second"

/**
 * The live calls of a project that is deleted end: at once those that are here when it is deleted here, and within 2 s
 * those of a deletion elsewhere, or of one whose node died right after it. A call whose end was asked for already takes
 * no notice of being asked again.
 */
export const CallsOfProject: Layer.Layer<never, never, Projects | CallEngine> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const projects = yield* Projects
    const engine = yield* CallEngine
    yield* projects.afterDelete("calls", (project) => engine.endOf([project.id]))
    yield* engine.projects.pipe(
      Effect.flatMap(projects.deletedAmong),
      Effect.flatMap(engine.endOf),
      Effect.catchAllCause((cause) =>
        Cause.isInterruptedOnly(cause)
          ? Effect.interrupt
          : Effect.logWarning("Whether calls belong to deleted projects could not be seen; it is tried again", cause)
      ),
      Effect.delay(interval),
      Effect.forever,
      Effect.forkScoped
    )
  })
)
