import { spawn, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { parseArgs } from "node:util"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Config, Console, Effect, Layer, Logger, Option, Redacted } from "effect"
import { endWithSurroundings, exitCodes, teardown } from "../ExitCode.ts"
import { run } from "../Headless.ts"
import { defaultFrom } from "../Options.ts"
import { Phone } from "../Phone.ts"
import { parse } from "../Script.ts"
import { ServerAddress } from "../ServerAddress.ts"
import { Session } from "../Session.ts"
import { printable } from "../ui/TextWrap.ts"
import { VoiceClient } from "../VoiceClient.ts"
import { DemoServer } from "./DemoServer.ts"
import { type Activity, menuNumber, SampleCustomer } from "./SampleCustomer.ts"

/**
 * `npm run demo`: a server, a sample agent's server, an agent with two numbers, and a phone. In a terminal the phone is
 * interactive; otherwise it plays scripted calls, and the exit code reports whether they were as expected.
 */

/** The number that the demo's agent answers. */
const demoNumber = "+15550100100"

/** The hint in the simulator's input line. */
const hint = "try: what is free on Friday? · book Friday at 10:30 for Ada · bye"

/** What the list of numbers says about them. */
const notes = new Map([
  [demoNumber, "makes appointments"],
  [menuNumber, "has a menu first: press 1 or 2"]
])

/** Creates the agent and its numbers. */
const setUp = Effect.fn("demo.setUp")(function* (recording: boolean) {
  const client = yield* VoiceClient
  const customer = yield* SampleCustomer
  const { agent, server_secret } = yield* client.createAgent({
    name: "Bright Smile Dental",
    server_url: customer.url,
    recording
  })
  yield* customer.trust(Redacted.make(server_secret))
  // The list is newest first, so that the number without a menu is selected.
  for (const each of [menuNumber, demoNumber]) {
    const number = yield* client.importNumber(each)
    yield* client.assignNumber(number.id, agent.public_id)
  }
  return agent.public_id
})

/** The settings of the plugin for a real voice and model; it is loaded with one of the first two. */
const openai = ["API_KEY", "BASE_URL", "MODEL", "STT_MODEL", "STT_STREAMING", "TTS_MODEL", "PROVIDES"].map(
  (name) => `SVC_OPENAI_${name}`
)

/** Opens a page in the browser of whoever sits at the terminal; the link is printed in any case. */
const openPage = (url: string) =>
  Effect.sync(() => {
    const opener = { darwin: "open", win32: "explorer" }[String(process.platform)] ?? "xdg-open"
    const child = spawn(opener, [url], { stdio: "ignore", detached: true })
    child.on("error", () => {})
    child.unref()
  })

/** Calls from a web page, until the demo is stopped. */
const inBrowser = Effect.fn("demo.inBrowser")(function* (agentId: string, isTerminal: boolean, isUnderstood: boolean) {
  const { callLink } = yield* VoiceClient
  const url = yield* callLink(agentId)
  yield* Console.log(`Call it on this page, from this machine:\n\n  ${url}\n`)
  if (!isUnderstood) {
    yield* Console.log(
      "The simulated speech-to-text understands no words. To be understood, stop the demo and set SVC_OPENAI_API_KEY, or\nSVC_OPENAI_BASE_URL to a server of your own: see docs/providers.md. The keypad works.\n"
    )
  }
  yield* Console.log("Ctrl-C ends the demo, its server and its calls.")
  if (isTerminal) yield* openPage(url)
  return yield* Effect.never
})

/** The interactive simulator. */
const interactive = Effect.gen(function* () {
  const { show } = yield* Effect.promise(() => import("../ui/Terminal.tsx"))
  // The phone connected before the numbers existed.
  const session = yield* Session
  yield* session.refreshNumbers
  yield* show({ from: defaultFrom, hint, notes })
  yield* Console.log(
    "The demo's server ends now, and its debug pages with it. Those of a server of yours (npm start) stay."
  )
  return exitCodes.ok
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

/** The example scripts with the numbers that they dial. */
const examples = [
  { file: "appointment.yaml", to: demoNumber },
  { file: "menu.yaml", to: menuNumber },
  { file: "transfer.yaml", to: demoNumber },
  { file: "outbound.yaml", to: demoNumber }
]

/** The call that is played with a real voice: its words are in the events of the call, because the phone decodes only tones. */
const spokenExamples = [{ file: "voice.yaml", to: demoNumber }]

/** Plays the example scripts until one fails. */
const scripted = Effect.fn("demo.scripted")(function* (
  examples: ReadonlyArray<{ readonly file: string; readonly to: string }>
) {
  const customer = yield* SampleCustomer
  const { key } = yield* DemoServer
  let refused = 0
  yield* customer.watch((activity) => {
    if (activity._tag === "Refused") refused += 1
    const text = row(activity)
    if (text !== null) process.stdout.write(`${printable(text)}\n`)
  })
  let code: number = exitCodes.ok
  for (const { file, to } of examples) {
    if (code !== exitCodes.ok) break
    const path = new URL(`../../examples/${file}`, import.meta.url)
    const script = yield* parse(yield* Effect.sync(() => readFileSync(path, "utf8")))
    // Each on a new phone, without state of the previous call.
    const call = run({ script, to, from: undefined, key, json: false, timeout: 60 })
    code = yield* Effect.provide(call, Layer.fresh(phone))
  }
  return refused > 0 && code === exitCodes.ok ? exitCodes.failed : code
})

const phone = Layer.unwrapEffect(
  Effect.map(DemoServer, ({ key, url }) =>
    Session.layer.pipe(
      Layer.provideMerge(Layer.merge(Phone.layer, VoiceClient.layer)),
      Layer.provideMerge(Layer.succeed(ServerAddress, { url, key }))
    )
  )
)

/** What the demo is, for whoever gives it arguments. */
const usage = `npm run demo
npm run demo -- --voice espeak [--recordings <folder>]
npm run demo -- --browser [--recordings <folder>]

Starts a server of its own with a sample agent, and a phone in the terminal to call it. Without a terminal it plays
scripted calls. With --voice espeak the agent speaks with the voice of espeak-ng, which must be installed, instead of tones;
--recordings keeps the recordings of the calls in a folder. With --browser the phone is a web page; the agent has the voice of
espeak-ng where that is installed, and hears and speaks by SVC_OPENAI_API_KEY or SVC_OPENAI_BASE_URL where one is set.
It takes no arguments but these; to call the agents of your own server: npm run simulate -- --help`

/** The arguments, or what is wrong with them. */
const readArguments = (args: ReadonlyArray<string>) => {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        help: { type: "boolean", short: "h" },
        voice: { type: "string" },
        browser: { type: "boolean" },
        recordings: { type: "string" }
      }
    })
    const { browser = false, help = false, recordings, voice } = values
    if (voice !== undefined && voice !== "espeak") return { problem: `The demo has no voice "${voice}"` }
    return {
      help,
      isSpoken: voice === "espeak",
      browser,
      recordings: recordings === undefined ? null : resolve(recordings)
    }
  } catch {
    return { problem: `The demo has no ${args.length === 1 ? "argument" : "arguments"} "${args.join(" ")}"` }
  }
}

const program = Effect.gen(function* () {
  const read = readArguments(process.argv.slice(2))
  if ("problem" in read) return yield* Effect.as(Console.error(`${read.problem}.\n\n${usage}`), exitCodes.usage)
  const { browser, help, isSpoken, recordings } = read
  if (help) return yield* Effect.as(Console.log(usage), exitCodes.ok)
  const hasEspeak =
    (isSpoken || browser) && (yield* Effect.sync(() => spawnSync("espeak-ng", ["--version"]).status)) === 0
  if (isSpoken && !hasEspeak) {
    yield* Console.error("espeak-ng is not installed: install it first (on Debian: apt-get install espeak-ng)")
    return exitCodes.failed
  }
  yield* Console.log("Starting a server of its own, with its database and the simulated phone network …")
  const hasModel =
    browser &&
    (yield* Effect.exists(openai.slice(0, 2), (name) => Effect.map(Config.option(Config.string(name)), Option.isSome)))
  const plugins = [
    ...(hasModel ? ["@svc/plugin-openai"] : []),
    ...(hasEspeak ? ["@svc/plugin-espeak"] : []),
    "@svc/plugin-simulated",
    ...(browser ? ["@svc/plugin-browser"] : [])
  ]
  const demo = Effect.gen(function* () {
    const { ended, started_in, url } = yield* DemoServer
    yield* Console.log(`The server is ready at ${url} after ${(started_in / 1000).toFixed(1)} s.`)
    const demoCalls = Effect.gen(function* () {
      const agentId = yield* setUp(recordings !== null)
      yield* Console.log(`An appointment line answers ${demoNumber}; with a menu first, ${menuNumber}.\n`)
      if (browser) return yield* inBrowser(agentId, process.stdout.isTTY === true, hasModel)
      // With CI set, Ink draws only once, so the simulator cannot be interactive.
      const isCi = yield* Config.withDefault(Config.string("CI"), "")
      const terminal =
        process.stdout.isTTY === true && process.stdin.isTTY === true && (isCi === "" || isCi === "false")
      return yield* terminal ? interactive : scripted(isSpoken ? spokenExamples : examples)
    })
    // What fails because the server has ended is seen a moment before its end.
    const notice = Effect.sleep("1 second")
    const calls = Effect.provide(demoCalls, phone).pipe(
      Effect.tapError(() => notice),
      Effect.tap((code) => (code === exitCodes.ok ? Effect.void : notice))
    )
    return yield* Effect.raceFirst(calls, ended)
  })
  return yield* Effect.provide(
    demo,
    Layer.merge(DemoServer.layerOf({ plugins, recordings, inherits: hasModel ? openai : [] }), SampleCustomer.layer)
  )
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

/** Runs the demo until it ends, or the process that had started it; `parent` is the id of that one. */
export const start = (parent: number): void => {
  endWithSurroundings(parent)
  NodeRuntime.runMain(program, { disableErrorReporting: true, disablePrettyLogger: true, teardown })
}
