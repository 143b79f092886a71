import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { WorkspaceScope } from "@svc/api/accounts/ApiKey"
import { Tier } from "@svc/api/Principal"
import { Effect, Schema } from "effect"
import * as Logging from "../Logging.ts"
import * as Settings from "../Settings.ts"

/** The commands on accounts: `svc org`, `svc project`, `svc keys`, `svc credits`. They work beside a running server. */

/** `--json` */
export const json = Options.boolean("json").pipe(Options.withDescription("Print JSON, for machines"))
const tiers = Tier.literals
const kinds = ["org", "project", "workspace"] as const

const scopeList = Schema.compose(Schema.split(","), Schema.Array(WorkspaceScope)).annotations({
  message: () => ({ message: `--scopes must be some of ${WorkspaceScope.literals.join(",")}`, override: true })
})

/** A schema whose fault is this message: the library prints it as a tree of its parts. */
export const inOneLine = <A, I>(schema: Schema.Schema<A, I>, message: string): Schema.Schema<A, I> =>
  schema.annotations({ message: () => ({ message, override: true }) })

/** `--org` */
export const org = Options.text("org").pipe(
  Options.withPseudoName("id"),
  Options.withDescription("Organization, by public or numeric id")
)
/** `--project` */
export const project = Options.text("project").pipe(
  Options.withPseudoName("id"),
  Options.withDescription("Project, by public or numeric id"),
  Options.optional
)

/** Imports a command's code and runs it. */
export const run = <A, M, E, R>(
  load: () => Promise<M>,
  effect: (module: M) => Effect.Effect<A, E, R>,
  development = false
) =>
  Effect.promise(load).pipe(
    Effect.flatMap(effect),
    Effect.provide(Logging.layer),
    Effect.withConfigProvider(Settings.provider(development))
  )

const orgCommand = Command.make("org").pipe(
  Command.withDescription("Organizations: create and list them, change their tier and what they may call"),
  Command.withSubcommands([
    Command.make(
      "create",
      {
        name: Args.text({ name: "name" }),
        tier: Options.choice("tier", tiers).pipe(
          Options.withDescription("payg by default"),
          Options.withDefault("payg" as const)
        ),
        credits: Options.text("credits").pipe(
          Options.withPseudoName("eur"),
          Options.withDescription("Balance that it starts with; 0 by default"),
          Options.withDefault("0")
        ),
        json
      },
      (options) =>
        run(
          () => import("./Org.ts"),
          (m) => m.create(options)
        )
    ).pipe(Command.withDescription("Make an organization with a project and keys, which are shown once")),
    Command.make("list", { json }, (options) =>
      run(
        () => import("./Org.ts"),
        (m) => m.list(options)
      )
    ).pipe(Command.withDescription("All organizations with their balances")),
    Command.make(
      "set-tier",
      {
        org: Args.text({ name: "id" }),
        tier: Args.choice(
          tiers.map((tier) => [tier, tier]),
          { name: "tier" }
        ),
        json
      },
      (options) =>
        run(
          () => import("./Org.ts"),
          (m) => m.setTier(options)
        )
    ).pipe(Command.withDescription("Change the tier; running servers follow within 2 seconds")),
    Command.make("countries", { org: Args.text({ name: "id" }), json }, (options) =>
      run(
        () => import("./Org.ts"),
        (m) => m.countries(options)
      )
    ).pipe(Command.withDescription("The countries that an organization may call and text")),
    Command.make(
      "set-countries",
      { org: Args.text({ name: "id" }), countries: Args.text({ name: "countries" }), json },
      (options) =>
        run(
          () => import("./Org.ts"),
          (m) => m.setCountries(options)
        )
    ).pipe(Command.withDescription("Change them: NL,BE,GB, all, none, or default; servers follow within 2 seconds"))
  ])
)

const projectCommand = Command.make("project").pipe(
  Command.withDescription("Projects of an organization: create and list them"),
  Command.withSubcommands([
    Command.make("create", { name: Args.text({ name: "name" }), org, json }, (options) =>
      run(
        () => import("./Projects.ts"),
        (m) => m.create(options)
      )
    ).pipe(Command.withDescription("Make a project with a key, which is shown once")),
    Command.make("list", { org, json }, (options) =>
      run(
        () => import("./Projects.ts"),
        (m) => m.list(options)
      )
    ).pipe(Command.withDescription("Projects of an organization"))
  ])
)

const keysCommand = Command.make("keys").pipe(
  Command.withDescription("API keys: create, list and revoke them"),
  Command.withSubcommands([
    Command.make(
      "create",
      {
        kind: Args.choice(
          kinds.map((kind) => [kind, kind]),
          { name: "kind" }
        ),
        org,
        project,
        name: Options.text("name").pipe(Options.withDescription("Name in lists; Default by default"), Options.optional),
        scope: Options.choice("scope", ["full", "read"]).pipe(
          Options.withDescription("Of a project key; full by default"),
          Options.optional
        ),
        scopes: Options.text("scopes").pipe(
          Options.withPseudoName("scope,…"),
          Options.withDescription(`Of a workspace key: ${WorkspaceScope.literals.join(", ")}`),
          Options.withSchema(scopeList),
          Options.optional
        ),
        json
      },
      (options) =>
        run(
          () => import("./Keys.ts"),
          (m) => m.create(options)
        )
    ).pipe(Command.withDescription("Make a key; it is shown once")),
    Command.make(
      "list",
      {
        kind: Args.choice(
          kinds.map((kind) => [kind, kind]),
          { name: "kind" }
        ).pipe(Args.optional),
        org,
        project,
        json
      },
      (options) =>
        run(
          () => import("./Keys.ts"),
          (m) => m.list(options)
        )
    ).pipe(Command.withDescription("Keys of an organization, or of a project")),
    Command.make("revoke", { id: Args.text({ name: "id" }), json }, (options) =>
      run(
        () => import("./Keys.ts"),
        (m) => m.revoke(options)
      )
    ).pipe(Command.withDescription("Revoke a key; running servers refuse it within 2 seconds"))
  ])
)

const creditsCommand = Command.make("credits").pipe(
  Command.withDescription("Credits of organizations: show and add them"),
  Command.withSubcommands([
    Command.make("show", { org: Args.text({ name: "org" }), json }, (options) =>
      run(
        () => import("./Credits.ts"),
        (m) => m.showCredits(options)
      )
    ).pipe(Command.withDescription("Balance, and whether the account is paused")),
    Command.make("add", { org: Args.text({ name: "org" }), eur: Args.text({ name: "eur" }), json }, (options) =>
      run(
        () => import("./Credits.ts"),
        (m) => m.addCredits(options)
      )
    ).pipe(Command.withDescription("Top up"))
  ])
)

export const accountCommands = [orgCommand, projectCommand, keysCommand, creditsCommand] as const
