import { Projects } from "@svc/auth/Projects"
import { Effect, Layer } from "effect"
import { PhoneNumbersRepo } from "./PhoneNumbersRepo.ts"

/** The numbers of a project that is deleted are released, in the same transaction; another can register them then. */
export const NumbersOfProject: Layer.Layer<never, never, Projects | PhoneNumbersRepo> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const projects = yield* Projects
    const repo = yield* PhoneNumbersRepo
    yield* projects.onDelete("numbers", (project) => repo.releaseAll(project.id))
  })
)
