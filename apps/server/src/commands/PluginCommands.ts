import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Schema } from "effect"
import { inOneLine, json, run } from "./AccountCommands.ts"

const dev = Options.boolean("dev").pipe(Options.withDescription("With the plugins of the development mode"))
const times = Options.text("times").pipe(
  Options.withPseudoName("n"),
  Options.withDescription("Ask each provider this often, 1 to 20, and show the median; 1 by default"),
  Options.withDefault("1"),
  Options.withSchema(
    inOneLine(
      Schema.compose(Schema.NumberFromString, Schema.Int.pipe(Schema.between(1, 20))),
      "--times must be an integer from 1 to 20"
    )
  )
)
const suite = Options.boolean("suite").pipe(
  Options.withDescription("Run the conformance suites too: many requests, which a vendor may charge for")
)

/** The command `svc plugins`. */
export const pluginsCommand = Command.make("plugins").pipe(
  Command.withDescription("Plugins: list them, check that one works"),
  Command.withSubcommands([
    Command.make("list", { dev, json }, (options) =>
      run(
        () => import("./plugins/Plugins.ts"),
        (m) => m.list(options),
        options.dev
      )
    ).pipe(Command.withDescription("The configured plugins, what they provide, and whether they work")),
    Command.make("check", { name: Args.text({ name: "name" }), times, suite, dev, json }, (options) =>
      run(
        () => import("./plugins/Plugins.ts"),
        (m) => m.check(options),
        options.dev
      )
    ).pipe(Command.withDescription("Make a real request for each capability of a plugin, and show how long it took"))
  ])
)
