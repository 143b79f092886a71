import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect, Layer, Logger } from "effect"
import { endWithSurroundings, exitCodes, teardown } from "./ExitCode.ts"
import { defaultFrom, parse, usage } from "./Options.ts"
import { Phone } from "./Phone.ts"
import { runAll } from "./ScriptRuns.ts"
import { ServerAddress } from "./ServerAddress.ts"
import { Session } from "./Session.ts"
import { VoiceClient } from "./VoiceClient.ts"

/** The simulator: a phone in the terminal, or a scripted call. See {@link usage}. */
const program = Effect.gen(function* () {
  const options = yield* parse(process.argv.slice(2))
  if (options.help) {
    yield* Console.log(usage)
    return exitCodes.ok
  }
  const { scripts } = options
  if (scripts.length === 0 && !process.stdout.isTTY) {
    yield* Console.error(`Without a terminal there must be a script.\n\n${usage}`)
    return exitCodes.usage
  }
  const session = Session.layer.pipe(
    Layer.provideMerge(Layer.merge(Phone.layer, VoiceClient.layer)),
    Layer.provideMerge(Layer.succeed(ServerAddress, { url: options.url, key: options.key })),
    Layer.provide(NodeHttpClient.layer)
  )
  if (scripts.length > 0) return yield* runAll(options, session)
  const main = Effect.gen(function* () {
    // A scripted call starts faster without the screen.
    const { show } = yield* Effect.promise(() => import("./ui/Terminal.tsx"))
    yield* show({ from: options.from ?? defaultFrom, to: options.to })
    return exitCodes.ok
  })
  return yield* Effect.provide(main, session)
}).pipe(
  Effect.catchTag("InvalidUsage", (error) =>
    Console.error(`${error.message}\n\n${usage}`).pipe(Effect.as(exitCodes.usage))
  ),
  Effect.provide(
    // Standard output is reserved for the report.
    Layer.merge(NodeContext.layer, Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.stringLogger)))
  )
)

endWithSurroundings()

NodeRuntime.runMain(program, { disableErrorReporting: true, disablePrettyLogger: true, teardown })
