import type { KnowledgeBaseRef } from "@svc/api/agents/AgentFields"
import type { PrincipalProject } from "@svc/api/Principal"
import { ValidationError } from "@svc/api/VoiceError"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Effect, Either } from "effect"
import { KnowledgeBasesRepo } from "./KnowledgeBasesRepo.ts"
import { Voices } from "./Voices.ts"

/** Fails with one error for all fields: a single error keeps its message, several get the general one. */
export const failWith = (errors: ReadonlyArray<ValidationError>): Effect.Effect<void, ValidationError> => {
  const [first, second] = errors
  if (first === undefined) return Effect.void
  if (second === undefined) return Effect.fail(first)
  const details: Record<string, string> = {}
  for (const error of errors) Object.assign(details, error.details)
  return Effect.fail(new ValidationError({ details }))
}

/** The errors among results, for {@link failWith}. */
export const errorsOf = (
  ...results: ReadonlyArray<Either.Either<unknown, ValidationError>>
): ReadonlyArray<ValidationError> => results.flatMap((result) => (Either.isLeft(result) ? [result.left] : []))

type Checked<A> = Effect.Effect<Either.Either<A, ValidationError>>

/** The checks of an agent's fields that a schema cannot make. */
export interface AgentChecks {
  /** Makes DNS look-ups, so never inside a transaction. A blank URL fails with the message `missing`, if given. */
  readonly url: (url: string, field: string, missing?: string) => Checked<unknown>
  readonly voice: (voice: string, language: string) => Either.Either<void, ValidationError>
  /** Each knowledge base once, by ascending id. Inside a transaction they are not deleted until it ends. */
  readonly knowledgeBases: (
    project: PrincipalProject,
    ids: ReadonlyArray<string | number>
  ) => Checked<ReadonlyArray<KnowledgeBaseRef>>
  /** Those of them that still exist, locked against deletion until the transaction ends. */
  readonly existing: (
    project: PrincipalProject,
    ids: ReadonlyArray<number>
  ) => Effect.Effect<ReadonlyArray<KnowledgeBaseRef>>
}

export const agentChecks: Effect.Effect<AgentChecks, never, UrlSafety | Voices | KnowledgeBasesRepo> = Effect.gen(
  function* () {
    const urls = yield* UrlSafety
    const voices = yield* Voices
    const bases = yield* KnowledgeBasesRepo

    return {
      url: (url, field, missing) =>
        missing !== undefined && url.trim() === ""
          ? Effect.succeed(Either.left(ValidationError.field(field, missing)))
          : Effect.either(urls.check(url, field)),
      voice: (voice, language) =>
        voices.isValid(voice, language)
          ? Either.right(undefined)
          : Either.left(ValidationError.field("voice", "voice not available for the selected language")),
      knowledgeBases: (project, ids) =>
        Effect.map(bases.resolve(project.id, ids), (found) => {
          const unknown = found.flatMap((base, index) => (base === undefined ? [`knowledge_base_ids.${index}`] : []))
          const [first] = unknown
          const message = (field: string) => `${field} is not a knowledge base of this project`
          if (first !== undefined) {
            return Either.left(
              new ValidationError({
                ...(unknown.length === 1 ? { message: message(first) } : {}),
                details: Object.fromEntries(unknown.map((field) => [field, message(field)]))
              })
            )
          }
          const byId = new Map(found.flatMap((base) => (base === undefined ? [] : [[base.id, base] as const])))
          return Either.right([...byId.values()].toSorted((a, b) => a.id - b.id))
        }),
      existing: (project, ids) =>
        Effect.map(bases.resolve(project.id, ids), (found) => found.flatMap((base) => base ?? []))
    }
  }
)
