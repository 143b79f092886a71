import { Context, type Effect, type Redacted } from "effect"

/** A key of the first start, and whether we made it up (then it must be printed, this once). */
export interface BootstrapKey {
  readonly key: Redacted.Redacted<string>
  readonly generated: boolean
}

export type BootstrapResult =
  | { readonly created: false }
  | {
      readonly created: true
      readonly org: { readonly id: number; readonly public_id: string }
      readonly project: { readonly id: number; readonly public_id: string }
      readonly keys: { readonly org: BootstrapKey; readonly project: BootstrapKey; readonly workspace: BootstrapKey }
    }

/** The first organization, project and keys of an empty database (decisions §8). */
export class Bootstrap extends Context.Tag("@svc/auth/Bootstrap")<
  Bootstrap,
  {
    /** Makes them where there is no organization yet. Safe when several servers start at once: one of them creates. */
    readonly run: Effect.Effect<BootstrapResult>
  }
>() {}
