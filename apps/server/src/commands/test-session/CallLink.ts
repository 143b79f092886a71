import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { type ConfigError, Console, Effect, Option } from "effect"
import * as Client from "./SessionClient.ts"
import { accessOf, type CannotChat, type ChatOptions } from "./TextConversation.ts"

/** Options of `svc call`. */
interface CallLinkOptions extends ChatOptions {
  readonly expiresIn: number
  readonly maxCalls: number
}

/** `svc call <agent>`: prints a link, or with `--json` the answer of the server. */
export const callLink = (
  options: CallLinkOptions
): Effect.Effect<void, CannotChat | Client.RequestFailed | ConfigError.ConfigError> =>
  Effect.gen(function* () {
    const access = yield* accessOf(options)
    const client = yield* Client.make(access, "a link")
    const agent = yield* client.agent(options.agent)
    const link = yield* client.callLink(agent.public_id, {
      ...(Option.isSome(options.from) && { from: options.from.value }),
      ...(Option.isSome(options.metadata) && { metadata: options.metadata.value }),
      expires_in: options.expiresIn,
      max_calls: options.maxCalls
    })
    // A server that does not know its address answers with a path.
    const url = new URL(link.url, access.url).href
    yield* Console.log(options.json ? JSON.stringify({ ...link, url }) : url)
  }).pipe(Effect.provide(NodeHttpClient.layer))
