import { RequiredScope } from "@svc/api/Workspace"
import { ScopeInsufficient } from "@svc/api/WorkspaceError"
import { Context, Effect, Option } from "effect"
import { type Middleware, principalOf } from "./Middleware.ts"

/** Lets only keys pass that have the endpoint's scope. None includes another (spec 5.10, decisions §7.10). */
export const scope: Effect.Effect<Middleware> = Effect.succeed((request, next) =>
  Effect.flatMap(principalOf(request), ({ scopes }) => {
    const required = Context.getOption(request.endpoint.annotations, RequiredScope)
    if (Option.isSome(required) && scopes.includes(required.value)) return next(request)
    const message = Option.match(required, {
      onNone: () => `${request.endpoint.name} has no scope`,
      onSome: (name) => `This key lacks the scope ${name}`
    })
    return Effect.fail(new ScopeInsufficient({ message }))
  })
)
