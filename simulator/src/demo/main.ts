import { readFileSync } from "node:fs"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Config, Console, Effect, Layer, Logger, Redacted } from "effect"
import { exitCodes, teardown } from "../ExitCode.ts"
import { run } from "../Headless.ts"
import { defaultFrom } from "../Options.ts"
import { Phone } from "../Phone.ts"
import { parse } from "../Script.ts"
import { ServerAddress } from "../ServerAddress.ts"
import { Session } from "../Session.ts"
import { VoiceClient } from "../VoiceClient.ts"
import { DemoServer } from "./DemoServer.ts"
import { type Activity, SampleCustomer } from "./SampleCustomer.ts"

/**
 * `npm run demo`: a server, a customer's server, an agent with a number, and a phone in front of them. On a terminal
 * the phone is yours; without one a scripted call is made, and the exit code tells whether it went as it should.
 */

/** The number that the demo's agent answers. */
const demoNumber = "+15550100100"

/** What to try, where the simulator asks for words. */
const hint = "try: what is free on Friday? · book Friday at 10:30 for Ada · bye"

/** Makes the agent and gives it the number. */
const setUp = Effect.gen(function* () {
  const client = yield* VoiceClient
  const customer = yield* SampleCustomer
  const { agent, server_secret } = yield* client.createAgent({ name: "Bright Smile Dental", server_url: customer.url })
  yield* customer.trust(Redacted.make(server_secret))
  const number = yield* client.importNumber(demoNumber)
  yield* client.assignNumber(number.id, agent.public_id)
})

/** A person at the terminal. */
const interactive = Effect.gen(function* () {
  const { show } = yield* Effect.promise(() => import("../ui/Terminal.tsx"))
  // The phone was connected before the number was there.
  const session = yield* Session
  yield* session.refreshNumbers
  yield* show({ from: defaultFrom, hint })
  return exitCodes.met
})

const row = (activity: Activity): string | null => {
  switch (activity._tag) {
    case "ToolCalled":
      return `        ⚙ ${activity.request.name}(${JSON.stringify(activity.request.arguments)}) → ${JSON.stringify(activity.result)}`
    case "Refused":
      return `        ✖ the sample server refused a request: ${activity.reason}`
    default:
      return null
  }
}

/** A call that a script makes. */
const scripted = Effect.gen(function* () {
  const customer = yield* SampleCustomer
  const { key } = yield* DemoServer
  let refused = 0
  yield* customer.watch((activity) => {
    if (activity._tag === "Refused") refused += 1
    const text = row(activity)
    if (text !== null) process.stdout.write(`${text}\n`)
  })
  const file = new URL("../../examples/appointment.yaml", import.meta.url)
  const script = yield* parse(yield* Effect.sync(() => readFileSync(file, "utf8")))
  const code = yield* run({ script, to: demoNumber, from: undefined, key, json: false, timeout: 60 })
  return refused > 0 && code === exitCodes.met ? exitCodes.failed : code
})

const phone = Layer.unwrapEffect(
  Effect.map(DemoServer, ({ key, url }) =>
    Session.layer.pipe(
      Layer.provideMerge(Layer.merge(Phone.layer, VoiceClient.layer)),
      Layer.provideMerge(Layer.succeed(ServerAddress, { url, key }))
    )
  )
)

const program = Effect.gen(function* () {
  yield* Console.log("Starting a server of its own, with its database and the simulated phone network …")
  const demo = Effect.gen(function* () {
    const { started_in, url } = yield* DemoServer
    yield* Console.log(`The server is ready at ${url} after ${(started_in / 1000).toFixed(1)} s.`)
    const world = Effect.gen(function* () {
      yield* setUp
      yield* Console.log(`An appointment line answers ${demoNumber}.\n`)
      // With CI set, Ink draws only once: that is no terminal to talk on.
      const isCi = yield* Config.withDefault(Config.string("CI"), "")
      const terminal =
        process.stdout.isTTY === true && process.stdin.isTTY === true && (isCi === "" || isCi === "false")
      return yield* terminal ? interactive : scripted
    })
    return yield* Effect.provide(world, phone)
  })
  return yield* Effect.provide(demo, Layer.merge(DemoServer.layer, SampleCustomer.layer))
}).pipe(
  Effect.provide(Layer.provideMerge(NodeHttpClient.layer, NodeContext.layer)),
  Effect.tapErrorTag("ServerFailed", (error) => Console.error(error.message)),
  Effect.tapErrorTag("ApiFailure", (error) => Console.error(error.message)),
  Effect.catchTags({
    ServerFailed: () => Effect.succeed(exitCodes.failed),
    ApiFailure: () => Effect.succeed(exitCodes.failed)
  }),
  Effect.provide(Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.stringLogger)))
)

// A terminal window that is closed ends us as Ctrl-C does, children included.
process.once("SIGHUP", () => process.kill(process.pid, "SIGTERM"))

NodeRuntime.runMain(program, { disableErrorReporting: true, disablePrettyLogger: true, teardown })
