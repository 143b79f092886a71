import { expect, it } from "@effect/vitest"
import { HandlerRegistry } from "@svc/api/Handlers"
import { RouteRegistry } from "@svc/api/PlainRoutes"
import { CurrentPrincipal } from "@svc/api/Principal"
import { Providers } from "@svc/providers/Providers"
import { Context, Effect, Option } from "effect"
import { Security } from "../../../src/http/access/Security.ts"
import { ask } from "../../servers/Client.ts"
import { handlersOf, signals, startTiny } from "../../servers/TinyServer.ts"

it.scopedLive("the fiber of a request has the services of its request, and none of the server", () =>
  Effect.gen(function* () {
    const { handlers } = handlersOf(yield* signals)
    const seen: Array<Context.Context<never>> = []
    const item = () =>
      Effect.map(Effect.context<never>(), (services) => {
        seen.push(services)
        return { item: "x" }
      })
    const { port } = yield* startTiny({ groups: [{ group: "tiny", handlers: { ...handlers, item } }] })
    expect((yield* ask(port, { path: "/v1/items/x", key: "full" })).status).toBe(200)
    const [services = Context.empty()] = seen
    expect(Option.isSome(Context.getOption(services, CurrentPrincipal))).toBe(true)
    for (const tag of [HandlerRegistry, Providers, RouteRegistry, Security]) {
      expect(services.unsafeMap.has(tag.key)).toBe(false)
    }
  })
)
