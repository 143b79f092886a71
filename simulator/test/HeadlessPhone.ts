import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { type Console, Effect, Layer, Redacted } from "effect"
import { Phone } from "../src/Phone.ts"
import { ServerAddress } from "../src/ServerAddress.ts"
import { Session } from "../src/Session.ts"
import { VoiceClient } from "../src/VoiceClient.ts"

/** A phone on a server. */
export const phoneAt = (url: string, apiKey: string) =>
  Session.layer.pipe(
    Layer.provideMerge(Layer.merge(Phone.layer, VoiceClient.layer)),
    Layer.provideMerge(Layer.succeed(ServerAddress, { url, key: Redacted.make(apiKey) })),
    Layer.provide(NodeHttpClient.layer)
  )

/** A console that records its output. */
export const recorder = Effect.gen(function* () {
  const out: Array<string> = []
  const err: Array<string> = []
  const standard = yield* Effect.console
  const console: Console.Console = {
    ...standard,
    log: (...args) => Effect.sync(() => void out.push(args.join(" "))),
    error: (...args) => Effect.sync(() => void err.push(args.join(" ")))
  }
  return { console, out, err }
})
