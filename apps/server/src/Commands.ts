import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect } from "effect"
import { commandTree } from "./command-line/CommandTree.ts"
import { accountCommands } from "./commands/AccountCommands.ts"
import { agentCommand } from "./commands/AgentCommands.ts"
import { numbersCommand } from "./commands/NumberCommands.ts"
import { pluginsCommand } from "./commands/PluginCommands.ts"
import { replayCommand } from "./commands/ReplayCommand.ts"
import { sipCommand } from "./commands/SipCommand.ts"
import { callCommand, chatCommand } from "./commands/TestSessionCommand.ts"
import * as Logging from "./Logging.ts"
import * as Settings from "./Settings.ts"
import { version } from "./Version.ts"

// Each command's own code is imported when it runs: the server's is large, and `svc --help` should not wait for it.

const dev = Options.boolean("dev").pipe(
  Options.withDescription("Development mode: loads the simulated phone network and allows private URLs")
)
const json = Options.boolean("json").pipe(Options.withDescription("Print JSON, for machines"))

let isServer = false

/** The exit code after a signal: 128 + SIGINT for a command, which has not done its work. */
export const codeAfterSignal = (): number => (isServer ? 0 : 130)

const serve = Command.make("serve", { dev }, (options) =>
  Effect.promise(() => {
    isServer = true
    return import("./commands/Serve.ts")
  }).pipe(
    Effect.flatMap((command) => command.serve(options)),
    Effect.provide(Logging.layer),
    Effect.withConfigProvider(Settings.provider(options.dev))
  )
).pipe(Command.withDescription("Run the server until it is stopped"))

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
).pipe(Command.withDescription("Check what a server needs; updates the database's schema"))

const rotate = Command.make("rotate", { json }, (options) =>
  Effect.promise(() => import("./commands/Secrets.ts")).pipe(
    Effect.flatMap((command) => command.rotateSecrets(options)),
    Effect.provide(Logging.layer),
    Effect.withConfigProvider(Settings.provider(false))
  )
).pipe(Command.withDescription("Encrypt all signing secrets in the database with SVC_SECRET_KEY"))
const secrets = Command.make("secrets").pipe(
  Command.withDescription("Signing secrets in the database: encrypt them"),
  Command.withSubcommands([rotate])
)

const commands = [
  serve,
  doctor,
  ...accountCommands,
  agentCommand,
  numbersCommand,
  pluginsCommand,
  sipCommand,
  chatCommand,
  callCommand,
  replayCommand(version),
  migrate,
  secrets
] as const
/** The command `svc`. */
export const svc = Command.make("svc").pipe(
  Command.withDescription("Self-hosted platform on which AI voice agents answer phone calls"),
  Command.withSubcommands(commands)
)
/** Its commands, as help pages show them. */
export const tree = commandTree(
  svc.descriptor,
  commands.map(({ descriptor }) => descriptor)
)
