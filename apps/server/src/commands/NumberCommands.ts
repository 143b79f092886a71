import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { NumberSearchQuery } from "@svc/api/numbers/NumberSearch"
import { NumberType } from "@svc/api/numbers/PhoneNumberFields"
import { E164, Limit } from "@svc/api/Wire"
import { Effect, Option } from "effect"
import { inOneLine, json, org, project, run as runCommand } from "./AccountCommands.ts"
import { Operator } from "./Confirmation.ts"

/** The commands on phone numbers: `svc numbers`. They load the plugins, and work beside a running server. */

const dev = Options.boolean("dev").pipe(Options.withDescription("With the plugins of the development mode"))
const yes = Options.boolean("yes").pipe(Options.withDescription("Do not ask"))
const number = Args.text({ name: "number" })
const owner = { org, project, dev, json }
const query = NumberSearchQuery.fields

/** Imports the code of these commands and runs one. */
const run = <A, E>(
  command: (module: typeof import("./Numbers.ts")) => Effect.Effect<A, E, Operator>,
  options: { readonly dev: boolean }
) =>
  runCommand(
    () => import("./Numbers.ts"),
    (module) => Effect.provide(command(module), Operator.layer),
    options.dev
  )

/** The command `svc numbers`. */
export const numbersCommand = Command.make("numbers").pipe(
  Command.withDescription("Phone numbers: find, buy, assign and release them"),
  Command.withSubcommands([
    Command.make("list", owner, (options) => run((m) => m.list(options), options)).pipe(
      Command.withDescription("Active numbers of a project with their rent")
    ),
    Command.make(
      "search",
      {
        country: Args.text({ name: "country" }).pipe(
          Args.withSchema(inOneLine(query.country, "<country> must be a two-letter country code, such as NL"))
        ),
        area: Options.text("area").pipe(
          Options.withPseudoName("area"),
          Options.withDescription("Area code or place"),
          Options.optional
        ),
        type: Options.choice("type", NumberType.literals).pipe(Options.optional),
        limit: Options.text("limit").pipe(
          Options.withPseudoName("n"),
          Options.withDescription("At most this many, 1 to 100; 50 by default"),
          Options.withDefault("50"),
          Options.withSchema(inOneLine(Limit(100), "--limit must be an integer from 1 to 100"))
        ),
        org,
        dev,
        json
      },
      ({ area, country, limit, type, ...options }) =>
        run(
          (m) =>
            m.search({
              ...options,
              query: { country, limit, area: Option.getOrUndefined(area), type: Option.getOrUndefined(type) }
            }),
          options
        )
    ).pipe(Command.withDescription("Numbers for sale in a country, with the price of the organization's tier")),
    Command.make(
      "buy",
      {
        number: number.pipe(
          Args.withSchema(inOneLine(E164, "<number> must be a phone number in E.164, such as +12125550100"))
        ),
        agent: Options.text("agent").pipe(
          Options.withPseudoName("id"),
          Options.withDescription("Agent that answers, by public or numeric id"),
          Options.optional
        ),
        address: Options.integer("address").pipe(
          Options.withPseudoName("id"),
          Options.withDescription("Id of an address of the project; required outside the US and Canada"),
          Options.optional
        ),
        yes,
        ...owner
      },
      (options) => run((m) => m.buy(options), options)
    ).pipe(Command.withDescription("Buy a number; the first month is debited at once")),
    Command.make("assign", { number, agent: Args.text({ name: "agent" }), ...owner }, (options) =>
      run((m) => m.assign(options), options)
    ).pipe(Command.withDescription("Let an agent answer a number, or none")),
    Command.make("release", { number, yes, ...owner }, (options) => run((m) => m.release(options), options)).pipe(
      Command.withDescription("Release a number and end its rent")
    )
  ])
)
