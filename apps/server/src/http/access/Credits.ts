import { Billing } from "@svc/billing/Billing"
import { Context, Effect, Layer } from "effect"

/** The part of billing that the security layer uses. */
export class Credits extends Context.Tag("@svc/server/Credits")<
  Credits,
  {
    /**
     * False: the account is paused, and writes are answered with 402. Not called for the enterprise tier, which is
     * never paused.
     */
    readonly mayWrite: (orgId: number) => Effect.Effect<boolean>
  }
>() {
  static readonly layer: Layer.Layer<Credits, never, Billing> = Layer.effect(
    Credits,
    Effect.map(Billing, ({ mayWrite }) => ({ mayWrite }))
  )
}
