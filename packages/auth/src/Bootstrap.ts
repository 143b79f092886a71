import { SqlClient } from "@effect/sql"
import { Tier } from "@svc/api/Principal"
import { BigDecimal, Config, ConfigError, Context, Effect, Either, Layer, Option, Redacted, Schema } from "effect"
import { Accounts } from "./Accounts.ts"
import { AccountsRepo } from "./AccountsRepo.ts"
import { generateKey, isKey, type KeyKind, prefixes } from "./KeyFormat.ts"
import { Keys } from "./Keys.ts"
import { newAccount } from "./NewAccount.ts"

/** A setting that counts as absent when it is empty, as in `SVC_X=` of an env file. */
const setting = <A>(name: string, read: (value: string) => Either.Either<A, string>): Config.Config<Option.Option<A>> =>
  Config.string(name).pipe(
    Config.withDefault(""),
    Config.mapOrFail((value) =>
      value === ""
        ? Either.right(Option.none<A>())
        : Either.mapBoth(read(value), {
            onLeft: (message) => ConfigError.InvalidData([name], message),
            onRight: Option.some
          })
    )
  )

const keySetting = (name: string, kind: KeyKind) =>
  setting(name, (value) =>
    isKey(kind, value)
      ? Either.right(Redacted.make(value))
      : Either.left(`must be ${prefixes[kind]} followed by 48 hexadecimal characters`)
  )

const isTier = Schema.is(Tier)

const settings = Config.all({
  org: keySetting("SVC_BOOTSTRAP_ORG_KEY", "org"),
  project: keySetting("SVC_BOOTSTRAP_PROJECT_KEY", "project"),
  workspace: keySetting("SVC_BOOTSTRAP_WORKSPACE_KEY", "workspace"),
  tier: setting("SVC_BOOTSTRAP_TIER", (value) =>
    isTier(value) ? Either.right(value) : Either.left(`must be one of ${Tier.literals.join(", ")}`)
  ),
  credits: setting("SVC_BOOTSTRAP_CREDITS", (value) =>
    /^[0-9]{1,9}(\.[0-9]{1,4})?$/.test(value)
      ? Either.fromOption(BigDecimal.fromString(value), () => "must be an amount in EUR")
      : Either.left("must be an amount in EUR, such as 25 or 12.50")
  )
})

/** A key created at the first start. A generated one must be printed now: it cannot be read again. */
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

/** The first organization, project and keys of an empty database (docs/reference/administration.md). */
export class Bootstrap extends Context.Tag("@svc/auth/Bootstrap")<
  Bootstrap,
  {
    /**
     * Creates them unless there is an organization. When several servers start at once, only one of them creates them.
     */
    readonly run: Effect.Effect<BootstrapResult>
  }
>() {
  /** An invalid `SVC_BOOTSTRAP_…` variable fails the layer with an error that names it, even when it is not needed. */
  static readonly layer: Layer.Layer<
    Bootstrap,
    ConfigError.ConfigError,
    Accounts | AccountsRepo | Keys | SqlClient.SqlClient
  > = Layer.effect(
    Bootstrap,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const repo = yield* AccountsRepo
      const keys = yield* Keys
      const sql = yield* SqlClient.SqlClient
      const config = yield* settings

      const keyOf = (kind: KeyKind): BootstrapKey =>
        Option.match(config[kind], {
          onNone: () => ({ key: Redacted.make(generateKey(kind)), generated: true }),
          onSome: (key) => ({ key, generated: false })
        })

      const create = Effect.gen(function* () {
        const created = { org: keyOf("org"), project: keyOf("project"), workspace: keyOf("workspace") }
        const { org, project } = yield* newAccount({ accounts, keys, sql })({
          name: "My organization",
          tier: Option.getOrElse(config.tier, () => "enterprise" as const),
          credits: Option.getOrElse(config.credits, () => BigDecimal.fromBigInt(0n)),
          keys: { org: created.org.key, project: created.project.key, workspace: created.workspace.key }
        })
        return {
          created: true as const,
          org: { id: org.id, public_id: org.public_id },
          project: { id: project.id, public_id: project.public_id },
          keys: created
        }
      })

      return {
        run: Effect.flatMap(repo.lockAndCheckEmpty, (empty) =>
          empty ? create : Effect.succeed<BootstrapResult>({ created: false })
        ).pipe(sql.withTransaction, Effect.catchTag("SqlError", Effect.die), Effect.withSpan("Bootstrap.run"))
      }
    })
  )
}
