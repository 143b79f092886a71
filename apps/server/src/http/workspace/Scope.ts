import { RequiredScope } from "@svc/api/Workspace"
import { ScopeInsufficient } from "@svc/api/WorkspaceError"
import { Context, Effect, Option } from "effect"
import { type Middleware, principalOf } from "./Middleware.ts"

/** Lets only keys pass that have the endpoint's scope. No scope includes another. */
export const scope: Effect.Effect<Middleware> = Effect.succeed((request, next) =>
  Effect.flatMap(principalOf(request), ({ scopes }) => {
    const required = Context.getOption(request.endpoint.annotations, RequiredScope)
    if (Option.isNone(required)) return Effect.dieMessage(`${request.endpoint.name} asks for no scope`)
    return scopes.includes(required.value)
      ? next(request)
      : Effect.fail(new ScopeInsufficient({ message: `This key lacks the scope ${required.value}` }))
  })
)
