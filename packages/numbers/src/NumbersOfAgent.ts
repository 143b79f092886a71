import { Agents } from "@svc/agents/Agents"
import { Effect, Layer } from "effect"
import { PhoneNumbersRepo } from "./PhoneNumbersRepo.ts"

/** The numbers of an agent that is deleted have no agent, in the same transaction. */
export const NumbersOfAgent: Layer.Layer<never, never, Agents | PhoneNumbersRepo> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const agents = yield* Agents
    const repo = yield* PhoneNumbersRepo
    yield* agents.onDelete("numbers", repo.unassignAll)
  })
)
