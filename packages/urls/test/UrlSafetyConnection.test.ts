import { createServer } from "node:http"
import { describe, expect, it } from "@effect/vitest"
import { Data, Effect, Layer } from "effect"
import { Agent, request } from "undici"
import { Resolver } from "../src/UrlSafety/Resolver.ts"
import { UrlSafety } from "../src/UrlSafety.ts"
import { layerOf, resolverOf, Strict } from "./Resolvers.ts"

/** A server on this machine that counts its connections. */
const listening = (redirect?: { readonly location: string }) =>
  Effect.acquireRelease(
    Effect.async<{ readonly port: number; readonly reached: () => number; readonly close: () => void }>((resume) => {
      let reached = 0
      const server = createServer((_, response) =>
        response.writeHead(redirect === undefined ? 200 : 307, redirect).end("inside")
      )
      server.on("connection", () => {
        reached += 1
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(
          Effect.succeed({
            port,
            reached: () => reached,
            close: () => {
              server.closeAllConnections()
              server.close()
            }
          })
        )
      })
    }),
    (server) => Effect.sync(server.close)
  )

class RequestFailed extends Data.TaggedError("RequestFailed")<{ readonly code: unknown }> {}

const refusal = (url: string, timeout = 5000) => Effect.map(Effect.flip(get(url, timeout)), (error) => error.code)

const get = (url: string, timeout = 5000) =>
  Effect.gen(function* () {
    const safety = yield* UrlSafety
    const agent = yield* Effect.acquireRelease(
      Effect.sync(() => new Agent({ connect: safety.connector({ timeout }) })),
      (dispatcher) => Effect.promise(() => dispatcher.destroy())
    )
    return yield* Effect.tryPromise({
      try: () => request(url, { dispatcher: agent }).then((response) => response.body.text()),
      catch: (error) => new RequestFailed({ code: error instanceof Error && "code" in error ? error.code : undefined })
    })
  })

describe("UrlSafety.connector", () => {
  it.scoped("refuses a name that resolves to a private address after the check", () =>
    Effect.gen(function* () {
      const server = yield* listening()
      const safety = yield* UrlSafety
      yield* safety.check("https://rebind.example/", "server_url")
      const code = yield* refusal(`https://rebind.example:${server.port}/`)
      expect(code).toBe("SVC_BLOCKED_ADDRESS")
      expect(server.reached()).toBe(0)
    }).pipe(Effect.provide(layerOf([], resolverOf({ "rebind.example": [["93.184.216.34"], ["127.0.0.1"]] }))))
  )
  it.scoped("refuses a name with one private address among public ones", () =>
    Effect.gen(function* () {
      const server = yield* listening()
      const code = yield* refusal(`https://half.example:${server.port}/`)
      expect(code).toBe("SVC_BLOCKED_ADDRESS")
      expect(server.reached()).toBe(0)
    }).pipe(Effect.provide(layerOf([], resolverOf({ "half.example": [["127.0.0.1", "93.184.216.34"]] }))))
  )
  it.scoped("refuses a literal private address, which is never resolved", () =>
    Effect.gen(function* () {
      const server = yield* listening()
      for (const host of ["127.0.0.1", "0x7f.1", "[::ffff:127.0.0.1]", "[::1]", "localhost"]) {
        expect(yield* refusal(`https://${host}:${server.port}/`)).toBe("SVC_BLOCKED_ADDRESS")
      }
      expect(server.reached()).toBe(0)
    }).pipe(Effect.provide(Strict))
  )
  it.scoped("connects to the checked address where private ones are allowed", () =>
    Effect.gen(function* () {
      const server = yield* listening()
      expect(yield* get(`http://inside.example:${server.port}/`)).toBe("inside")
      expect(yield* get(`http://127.0.0.1:${server.port}/`)).toBe("inside")
      expect(yield* refusal("http://169.254.169.254/")).toBe("SVC_BLOCKED_ADDRESS")
    }).pipe(
      Effect.provide(layerOf([["SVC_ALLOW_PRIVATE_URLS", "true"]], resolverOf({ "inside.example": [["127.0.0.1"]] })))
    )
  )
  it.scoped("refuses plain HTTP and ports of other services in URLs stored under a more permissive setting", () =>
    Effect.gen(function* () {
      expect(yield* refusal("http://v6only.example/")).toBe("SVC_BLOCKED_ADDRESS")
      expect(yield* refusal("http://1.1.1.1:8080/")).toBe("SVC_BLOCKED_ADDRESS")
      expect(yield* refusal("https://v6only.example:25/")).toBe("SVC_BLOCKED_ADDRESS")
      expect(yield* refusal("https://v6only.example:6379/")).toBe("SVC_BLOCKED_ADDRESS")
    }).pipe(Effect.provide(Strict))
  )
  it.scoped("does not follow a redirect to a private address", () =>
    Effect.gen(function* () {
      const inner = yield* listening()
      const outer = yield* listening({ location: `http://127.0.0.1:${inner.port}/` })
      expect(yield* get(`http://inside.example:${outer.port}/`)).toBe("inside")
      expect([outer.reached(), inner.reached()]).toEqual([1, 0])
    }).pipe(
      Effect.provide(layerOf([["SVC_ALLOW_PRIVATE_URLS", "true"]], resolverOf({ "inside.example": [["127.0.0.1"]] })))
    )
  )
  it.scopedLive("ends with the connection's timeout when the resolver hangs", () =>
    Effect.gen(function* () {
      expect(yield* refusal("https://hangs.example/", 50)).toBe("UND_ERR_CONNECT_TIMEOUT")
    }).pipe(Effect.provide(layerOf([], Layer.succeed(Resolver, { resolve: () => undefined }))))
  )
  it.scoped("refuses an empty answer of the resolver, and an invalid address", () =>
    Effect.gen(function* () {
      expect(yield* refusal("https://empty.example/")).toBe("ENOTFOUND")
      expect(yield* refusal("https://lies.example/")).toBe("SVC_BLOCKED_ADDRESS")
    }).pipe(Effect.provide(Strict))
  )
  it.scoped("fails with ENOTFOUND for a name that does not resolve", () =>
    Effect.gen(function* () {
      expect(yield* refusal("https://unknown.example/")).toBe("ENOTFOUND")
    }).pipe(Effect.provide(Strict))
  )
})

describe("UrlSafety.lookup", () => {
  const look = (hostname: string, options: { readonly all?: boolean; readonly family?: number }) =>
    Effect.flatMap(UrlSafety, (safety) =>
      Effect.async<unknown>((resume) =>
        safety.lookup(hostname, options, (error, address, kind) =>
          resume(Effect.succeed(error === null ? [address, kind] : "code" in error ? error.code : error.message))
        )
      )
    )
  it.effect("answers with one address or all, and by family", () =>
    Effect.gen(function* () {
      const v4 = { address: "93.184.216.34", family: 4 }
      const v6 = { address: "2606:2800:21f:cb07:6820:80da:af6b:8b2c", family: 6 }
      expect(yield* look("example.com", {})).toEqual([v4.address, 4])
      expect(yield* look("example.com", { family: 6 })).toEqual([v6.address, 6])
      expect(yield* look("example.com", { all: true })).toEqual([[v4, v6], undefined])
      expect(yield* look("v6only.example", { family: 4 })).toBe("ENOTFOUND")
      expect(yield* look("empty.example", { all: true })).toBe("ENOTFOUND")
      expect(yield* look("mixed.example", { family: 4 })).toBe("SVC_BLOCKED_ADDRESS")
      expect(yield* look("metadata.google.internal", {})).toBe("SVC_BLOCKED_ADDRESS")
    }).pipe(Effect.provide(Strict))
  )
})
