#!/usr/bin/env node
import { readFileSync } from "node:fs"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { isValidationError } from "@effect/cli/ValidationError"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Exit, Schema } from "effect"
import { accountCommands } from "./commands/AccountCommands.ts"
import { numbersCommand } from "./commands/NumberCommands.ts"
import { chatCommand } from "./commands/TestSessionCommand.ts"
import * as Logging from "./Logging.ts"
import * as Settings from "./Settings.ts"
import { Reported, report } from "./StartFailure.ts"

// Each command's own code is imported when it runs: the server's is large, and `svc --help` should not wait for it.

const dev = Options.boolean("dev").pipe(
  Options.withDescription("Development mode: the simulated phone network is loaded, and private URLs are allowed")
)
const json = Options.boolean("json").pipe(Options.withDescription("Print JSON, for machines"))

/** The exit code after a signal: 128 + SIGINT for a command, which has not done its work. */
let interruptedCode = 130

const serve = Command.make("serve", { dev }, (options) =>
  Effect.promise(() => {
    interruptedCode = 0
    return import("./commands/Serve.ts")
  }).pipe(
    Effect.flatMap((command) => command.serve(options)),
    Effect.provide(Logging.layer),
    Effect.withConfigProvider(Settings.provider(options.dev))
  )
).pipe(Command.withDescription("Run the server until it gets SIGINT or SIGTERM; a second signal ends it at once"))

const migrate = Command.make("migrate", { json }, (options) =>
  Effect.promise(() => import("./commands/Migrate.ts")).pipe(
    Effect.flatMap((command) => command.migrate(options)),
    Effect.provide(Logging.layer),
    Effect.withConfigProvider(Settings.provider(false))
  )
).pipe(Command.withDescription("Bring the database's schema up to date"))

const doctor = Command.make("doctor", { dev, json }, (options) =>
  Effect.promise(() => import("./commands/Doctor.ts")).pipe(
    Effect.flatMap((command) => command.doctor(options)),
    Effect.withConfigProvider(Settings.provider(options.dev))
  )
).pipe(
  Command.withDescription(
    "Check configuration, database (whose schema it brings up to date), plugins, media (a loopback call) and port"
  )
)

const rotate = Command.make("rotate", { json }, (options) =>
  Effect.promise(() => import("./commands/Secrets.ts")).pipe(
    Effect.flatMap((command) => command.rotateSecrets(options)),
    Effect.provide(Logging.layer),
    Effect.withConfigProvider(Settings.provider(false))
  )
).pipe(Command.withDescription("Encrypt all signing secrets in the database with SVC_SECRET_KEY"))
const secrets = Command.make("secrets").pipe(
  Command.withDescription("Signing secrets in the database"),
  Command.withSubcommands([rotate])
)

const { version } = Schema.decodeUnknownSync(Schema.parseJson(Schema.Struct({ version: Schema.String })))(
  readFileSync(new URL("../package.json", import.meta.url), "utf8")
)

const svc = Command.make("svc").pipe(
  Command.withDescription("Self-hosted platform on which AI voice agents answer phone calls"),
  Command.withSubcommands([serve, migrate, doctor, secrets, ...accountCommands, numbersCommand, chatCommand])
)

Command.run(svc, { name: "svc", version })(process.argv).pipe(
  Effect.provide(NodeContext.layer),
  // The library has printed what is wrong with the command line.
  Effect.catchIf(isValidationError, () => Effect.fail(new Reported())),
  Effect.catchAllCause(report),
  Effect.withConfigProvider(Settings.provider(false)),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    disablePrettyLogger: true,
    teardown: (exit, end) => end(Exit.isSuccess(exit) ? 0 : Exit.isInterrupted(exit) ? interruptedCode : 1)
  })
)
