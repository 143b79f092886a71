import { SqlClient } from "@effect/sql"
import type { ProjectCreate } from "@svc/api/accounts/Project"
import { BadRequest, ProjectNotFound } from "@svc/api/VoiceError"
import { Cause, Context, Effect, Layer, Option, type Scope } from "effect"
import { Accounts } from "./Accounts.ts"
import { AccountsRepo } from "./AccountsRepo.ts"
import { Keys } from "./Keys.ts"
import type { Project, ProjectChange } from "./Project.ts"

type Hook = (project: Project) => Effect.Effect<void>

/** Registered hooks by name, in the order of registration. */
const makeHooks = () => {
  const hooks = new Map<string, Hook>()
  return {
    forEach: (project: Project, run: (name: string, hook: Effect.Effect<void>) => Effect.Effect<void>) =>
      Effect.forEach(
        [...hooks],
        ([name, hook]) =>
          run(
            name,
            Effect.suspend(() => hook(project))
          ),
        { discard: true }
      ),
    add: (name: string, hook: Hook): Effect.Effect<void, never, Scope.Scope> =>
      Effect.acquireRelease(
        Effect.sync(() => void hooks.set(name, hook)),
        () => Effect.sync(() => void hooks.delete(name))
      )
  }
}

/** How long each hook after a deletion may delay the response. */
const hookTimeout = "5 seconds"

/**
 * The projects of an organization. A deleted one is not found by any request, and its keys fail.
 *
 * Effects of a deletion:
 *
 * | resource | effect | when |
 * |---|---|---|
 * | keys | fail with 401 | at once on this node, within 2 s on others |
 * | agents | deleted (soft), their webhooks removed | in the deletion's transaction |
 * | phone numbers | released: another project can register them | in the deletion's transaction |
 * | addresses | deleted, and no longer verified | in the deletion's transaction |
 * | knowledge bases | deleted with their passages | in the deletion's transaction |
 * | live calls | end with `ended_reason` `api` | after the commit; within 2 s on any node |
 * | call records, usage | stay with the organization | |
 */
export class Projects extends Context.Tag("@svc/auth/Projects")<
  Projects,
  {
    /** Newest first. */
    readonly list: (
      orgId: number,
      page: { readonly limit: number; readonly offset: number }
    ) => Effect.Effect<ReadonlyArray<Project>>
    readonly create: (orgId: number, options: ProjectCreate) => Effect.Effect<Project>
    /** By public or numeric id, within the organization. */
    readonly get: (orgId: number, id: string) => Effect.Effect<Project, ProjectNotFound>
    /** Changes the given fields; at least one is required. */
    readonly update: (projectId: number, change: ProjectChange) => Effect.Effect<Project, ProjectNotFound | BadRequest>
    /** Deletes the project with its resources, atomically. Of concurrent deletions one succeeds. */
    readonly remove: (orgId: number, id: string) => Effect.Effect<void, ProjectNotFound>
    /**
     * Registers a hook that runs inside the transaction of every deletion, until the scope closes. Its failure rolls
     * the deletion back. It may write to the database and must not make remote calls.
     */
    readonly onDelete: (name: string, hook: Hook) => Effect.Effect<void, never, Scope.Scope>
    /**
     * Registers a hook that runs after a deletion on this node has been committed, until the scope closes, for at most
     * 5 s. Its failure is logged and changes nothing, and a process that dies does not run it: a slice whose work
     * must happen also polls {@link deletedAmong}.
     */
    readonly afterDelete: (name: string, hook: Hook) => Effect.Effect<void, never, Scope.Scope>
    /** Which of these projects are deleted, by any node. */
    readonly deletedAmong: (ids: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<number>>
  }
>() {
  static readonly layer: Layer.Layer<Projects, never, Accounts | AccountsRepo | Keys | SqlClient.SqlClient> =
    Layer.effect(
      Projects,
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const repo = yield* AccountsRepo
        const keys = yield* Keys
        const sql = yield* SqlClient.SqlClient
        const deletionHooks = makeHooks()
        const afterDeletionHooks = makeHooks()

        const orNotFound = (row: Option.Option<Project>): Effect.Effect<Project, ProjectNotFound> =>
          Option.isSome(row) ? Effect.succeed(row.value) : Effect.fail(new ProjectNotFound())

        const deletion = (orgId: number, id: string) =>
          accounts.project(orgId, id).pipe(
            Effect.flatMap((project) => Effect.flatMap(repo.deleteProject(project.id), orNotFound)),
            Effect.tap((project) => deletionHooks.forEach(project, (_, hook) => hook)),
            sql.withTransaction,
            Effect.catchTag("SqlError", Effect.die),
            // Also when the answer to the commit was lost: it may have succeeded.
            Effect.ensuring(keys.clearCache)
          )

        const runAndLogFailure = (name: string, hook: Effect.Effect<void>) =>
          hook.pipe(
            Effect.timeoutFail({ duration: hookTimeout, onTimeout: () => new Cause.TimeoutException() }),
            Effect.catchAllCause((cause) =>
              Effect.logWarning(`The hook ${name} failed after the deletion of a project`, cause)
            )
          )

        return {
          list: repo.projects,
          create: accounts.createProject,
          get: accounts.project,
          update: Effect.fn("Projects.update")(function* (projectId, change) {
            if (Object.values(change).every((value) => value === undefined)) {
              return yield* new BadRequest({ message: "No valid fields to update" })
            }
            return yield* Effect.flatMap(repo.updateProject(projectId, change), orNotFound)
          }),
          remove: Effect.fn("Projects.remove")(function* (orgId, id) {
            const project = yield* deletion(orgId, id)
            yield* afterDeletionHooks.forEach(project, runAndLogFailure)
          }),
          onDelete: deletionHooks.add,
          afterDelete: afterDeletionHooks.add,
          deletedAmong: (ids) => (ids.length === 0 ? Effect.succeed([]) : repo.deletedProjects(ids))
        }
      })
    )
}
