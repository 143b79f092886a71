import { Agents } from "@svc/agents/Agents"
import { Effect, Layer } from "effect"
import { CallsRepo } from "../record/CallsRepo.ts"

/** An agent with live calls, on whichever node, is not deleted, and not cloned (spec 3.2, 7.1). See CallAdmission. */
export const CallsOfAgent: Layer.Layer<never, never, Agents | CallsRepo> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const agents = yield* Agents
    const repo = yield* CallsRepo
    yield* agents.activeWhen("calls", repo.hasLive)
  })
)
