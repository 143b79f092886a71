import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer, Stream } from "effect"
import { teardown } from "../src/ExitCode.ts"
import { initial, type PhoneState } from "../src/PhoneState.ts"
import { ServerAddress } from "../src/ServerAddress.ts"
import { Session } from "../src/Session.ts"
import { show } from "../src/ui/Terminal.tsx"

/** A program that crashes: with `render` while it draws, with `uncaught` in a callback. For Terminal.system.test.ts. */
const how = process.argv[2]
const working = initial(0)
const broken: PhoneState = {
  ...working,
  get connection(): PhoneState["connection"] {
    throw new Error("the picture broke")
  }
}

const session = Layer.succeed(Session, {
  state: Effect.succeed(how === "render" ? broken : working),
  changes: Stream.never,
  until: () => Effect.never,
  receive: () => Effect.void,
  register: () => Effect.void,
  dial: () => Effect.void,
  say: () => Effect.void,
  dtmf: () => Effect.void,
  hangup: Effect.void,
  refreshNumbers: Effect.void,
  settled: Effect.void
})

if (how === "uncaught") {
  process.stdin.once("readable", () => {
    throw new Error("a callback broke")
  })
}

show({ from: "+15550100200" }).pipe(
  Effect.provide(session),
  Effect.provide(Layer.succeed(ServerAddress, { url: "http://127.0.0.1:1", key: null })),
  NodeRuntime.runMain({ disableErrorReporting: true, disablePrettyLogger: true, teardown })
)
