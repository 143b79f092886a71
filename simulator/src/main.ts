import { NodeContext, NodeHttpClient, NodeRuntime } from "@effect/platform-node"
import { Cause, Console, Effect, Exit, Layer, Logger } from "effect"
import { exitCodes, run } from "./Headless.ts"
import { defaultFrom, parse, usage } from "./Options.ts"
import { Phone } from "./Phone.ts"
import { ServerAddress } from "./ServerAddress.ts"
import { Session } from "./Session.ts"
import { show } from "./ui/Terminal.tsx"
import { VoiceClient } from "./VoiceClient.ts"

/** The simulator: a telephone in the terminal, or a scripted call. See {@link usage}. */
const program = Effect.gen(function* () {
  const options = yield* parse(process.argv.slice(2))
  if (options.help) {
    yield* Console.log(usage)
    return exitCodes.met
  }
  const { script } = options
  if (script === undefined && !process.stdout.isTTY) {
    yield* Console.error(`Without a terminal there must be a --script.\n\n${usage}`)
    return exitCodes.usage
  }
  const session = Session.layer.pipe(
    Layer.provideMerge(Layer.merge(Phone.layer, VoiceClient.layer)),
    Layer.provideMerge(Layer.succeed(ServerAddress, { url: options.url, key: options.key })),
    Layer.provide(NodeHttpClient.layer)
  )
  const main = Effect.gen(function* () {
    if (script !== undefined) return yield* run({ ...options, script })
    yield* show(options.from ?? defaultFrom)
    return exitCodes.met
  })
  return yield* Effect.provide(main, session)
}).pipe(
  Effect.catchTag("WrongUsage", (error) =>
    Console.error(`${error.message}\n\n${usage}`).pipe(Effect.as(exitCodes.usage))
  ),
  Effect.provide(NodeContext.layer),
  // Standard output belongs to the report.
  Effect.provide(Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.stringLogger)))
)

NodeRuntime.runMain(program, {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  // Always an exit: a server that hangs would hold the process by the closing handshake of the line.
  teardown: (exit) => {
    if (Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause))
      process.stderr.write(`${Cause.pretty(exit.cause)}\n`)
    process.exit(
      Exit.isSuccess(exit) ? Number(exit.value) : Cause.isInterruptedOnly(exit.cause) ? exitCodes.interrupted : 1
    )
  }
})
