import { constants } from "node:os"
import * as Command from "@effect/cli/Command"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect, Exit } from "effect"
import { codeAfterSignal, svc, tree } from "./Commands.ts"
import * as CommandLine from "./command-line/CommandLine.ts"
import { helpPage, styleOf } from "./command-line/HelpPage.ts"
import * as Settings from "./Settings.ts"
import { exitCodeOf, exitCodes, Reported, report } from "./StartFailure.ts"
import { version } from "./Version.ts"

const words = process.argv.slice(2)

/** The exit code for a wrong command line. It differs from the result of commands whose exit code is their result. */
const usageCode = words[0] === "agent" || words[0] === "replay" ? exitCodes.usage : exitCodes.failed

// Nobody reads the output any more, as after `svc … | head -1`: a command ends as by SIGPIPE. A server goes on.
if (words[0] !== "serve") {
  process.stdout.on("error", () => process.exit(128 + constants.signals.SIGPIPE))
  process.stderr.on("error", () => {})
}

const program = Effect.gen(function* () {
  const { command, wants } = yield* CommandLine.read(tree, words)
  if (wants === "help") return yield* Console.log(helpPage(command, styleOf(process.stdout)))
  if (wants === "version") return yield* Console.log(version)
  yield* CommandLine.check(command, svc.descriptor, words)
  yield* Command.run(svc, { name: "svc", version })(process.argv)
})

program.pipe(
  Effect.provide(NodeContext.layer),
  Effect.catchTag("WrongUsage", ({ message }) =>
    Effect.zipRight(Console.error(`svc: ${message}`), Effect.fail(new Reported(usageCode)))
  ),
  Effect.catchAllCause(report),
  Effect.withConfigProvider(Settings.provider(false)),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    disablePrettyLogger: true,
    teardown: (exit, end) =>
      end(Exit.isSuccess(exit) ? 0 : Exit.isInterrupted(exit) ? codeAfterSignal() : exitCodeOf(exit.cause))
  })
)
