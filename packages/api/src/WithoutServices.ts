import { Context, Effect, Option, Tracer } from "effect"

/**
 * Runs an effect that needs no service without those of its fiber, except the current span. Whatever provides one more
 * service, as each statement of the database does, copies all that the fiber has: over a hundred in a server.
 */
export const withoutServices = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.mapInputContext(effect, (services: Context.Context<never>) =>
    Option.match(Context.getOption(services, Tracer.ParentSpan), {
      onNone: () => Context.empty(),
      onSome: (span) => Context.make(Tracer.ParentSpan, span)
    })
  )
