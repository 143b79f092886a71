import { createServer } from "node:http"
import { describe, expect, it } from "@effect/vitest"
import { ConfigProvider, Data, Duration, Effect, Fiber, Layer, TestClock } from "effect"
import { Agent, request } from "undici"
import { Resolver } from "../src/UrlSafety/Resolver.ts"
import { UrlSafety } from "../src/UrlSafety.ts"

const family = (address: string) => (address.includes(":") ? 6 : 4)

/** Names answer in turn with each of their lists of addresses, and stay at the last. */
const resolverOf = (names: { readonly [name: string]: ReadonlyArray<ReadonlyArray<string>> }) => {
  const asked = new Map<string, number>()
  return Layer.succeed(Resolver, {
    resolve: (hostname, done) => {
      const answers = names[hostname]
      const turn = asked.get(hostname) ?? 0
      asked.set(hostname, turn + 1)
      const answer = answers?.[Math.min(turn, answers.length - 1)]
      queueMicrotask(() =>
        answer === undefined
          ? done(Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: "ENOTFOUND" }), [])
          : done(
              null,
              answer.map((address) => ({ address, family: family(address) }))
            )
      )
    }
  })
}

const names = {
  "example.com": [["93.184.216.34", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]],
  "xn--bcher-kva.example": [["93.184.216.34"]],
  "v6only.example": [["2606:4700:4700::1111"]],
  "private.example": [["10.1.2.3"]],
  "mixed.example": [["93.184.216.34", "192.168.0.9"]],
  "mapped.example": [["::ffff:127.0.0.1"]],
  "linklocal.example": [["fe80::1%eth0"]],
  "metadata.example": [["169.254.169.254"]],
  "empty.example": [[]],
  localhost: [["127.0.0.1"]],
  "metadata.google.internal": [["169.254.169.254"]],
  database: [["172.18.0.2"]]
}

const layerOf = (environment: ReadonlyArray<readonly [string, string]>, resolver: Layer.Layer<Resolver>) =>
  UrlSafety.layer.pipe(
    Layer.provide(resolver),
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map(environment))))
  )
const Strict = layerOf([], resolverOf(names))
const Private = layerOf([["SVC_ALLOW_PRIVATE_URLS", "true"]], resolverOf(names))

const messageOf = (url: string) =>
  Effect.flatMap(UrlSafety, (safety) =>
    safety.check(url, "server_url").pipe(
      Effect.as("accepted"),
      Effect.catchAll((error) => {
        expect(error.details).toEqual({ server_url: error.message })
        return Effect.succeed(error.message)
      })
    )
  )

const notPublic = "server_url must be a valid public HTTPS URL"
const blocked = "server_url blocked by SSRF filter"

const badForm = [
  "",
  " ",
  "not a url",
  "example.com",
  "//example.com",
  "http://example.com/",
  "HTTP://EXAMPLE.COM/",
  "ftp://example.com/",
  "file:///etc/passwd",
  "gopher://example.com/",
  "javascript:alert(1)",
  "data:text/html,x",
  "ws://example.com/",
  "https:example.com",
  "https:/example.com",
  "https:///example.com",
  "https:\\\\example.com",
  "https://",
  "https://?",
  "https://.",
  "https://user@example.com/",
  "https://user:secret@example.com/",
  "https://:secret@example.com/",
  "https://@example.com/",
  "https://example.com@10.0.0.1/",
  "https://example.com\\@10.0.0.1/",
  " https://example.com/",
  "https://example.com/ ",
  "https://exam\nple.com/",
  "https://example.com/\u0000",
  "https://example.com:0/",
  "https://example.com:99999/",
  "https://[::1/",
  "https://256.1.1.1/",
  "https://1.2.3.4.5/",
  "https://unknown.example/",
  "https://empty.example/"
]

const bad = [
  "https://127.0.0.1/",
  "https://127.255.255.254/",
  "https://127.1/",
  "https://2130706433/",
  "https://0x7f000001/",
  "https://0x7f.0x0.0x0.0x1/",
  "https://0177.0.0.1/",
  "https://017700000001/",
  "https://127.0.0.1./",
  "https://%31%32%37.0.0.1/",
  "https://１２７.０.０.１/",
  "https://0/",
  "https://0.0.0.0/",
  "https://0.1.2.3/",
  "https://10.0.0.1/",
  "https://10.255.255.255/",
  "https://172.16.0.1/",
  "https://172.31.255.255/",
  "https://192.168.1.1/",
  "https://100.64.0.1/",
  "https://100.127.255.255/",
  "https://100.100.100.200/",
  "https://169.254.0.1/",
  "https://169.254.169.254/latest/meta-data/",
  "https://0xa9fea9fe/",
  "https://2852039166/",
  "https://168.63.129.16/",
  "https://192.0.0.1/",
  "https://192.0.2.1/",
  "https://192.88.99.1/",
  "https://198.18.0.1/",
  "https://198.19.255.255/",
  "https://198.51.100.7/",
  "https://203.0.113.7/",
  "https://224.0.0.1/",
  "https://239.255.255.255/",
  "https://240.0.0.1/",
  "https://255.255.255.255/",
  "https://[::]/",
  "https://[::1]/",
  "https://[0:0:0:0:0:0:0:1]/",
  "https://[::ffff:127.0.0.1]/",
  "https://[::ffff:7f00:1]/",
  "https://[::ffff:10.0.0.1]/",
  "https://[::ffff:169.254.169.254]/",
  "https://[::127.0.0.1]/",
  "https://[::ffff:0:127.0.0.1]/",
  "https://[64:ff9b::10.0.0.1]/",
  "https://[64:ff9b::169.254.169.254]/",
  "https://[64:ff9b:1::1]/",
  "https://[2002:7f00:1::]/",
  "https://[2002:a9fe:a9fe::1]/",
  "https://[2002:c0a8:101::1]/",
  "https://[2001::1]/",
  "https://[2001:db8::1]/",
  "https://[3fff::1]/",
  "https://[2606:4700::5efe:10.0.0.1]/",
  "https://[100::1]/",
  "https://[fc00::1]/",
  "https://[fd12:3456:789a::1]/",
  "https://[fd00:ec2::254]/",
  "https://[fd20:ce::254]/",
  "https://[fe80::1]/",
  "https://[febf::1]/",
  "https://[fec0::1]/",
  "https://[ff02::1]/",
  "https://localhost/",
  "https://LOCALHOST./",
  "https://app.localhost/",
  "https://metadata.google.internal/",
  "https://Metadata.Google.Internal./computeMetadata/v1/",
  "https://metadata.goog/",
  "https://private.example/",
  "https://mixed.example/",
  "https://mapped.example/",
  "https://linklocal.example/",
  "https://metadata.example/",
  "https://database/"
]

const good = [
  "https://example.com",
  "https://example.com/",
  "HTTPS://Example.COM:8443/voice?x=1#y",
  "https://example.com./",
  "https://bücher.example/",
  "https://v6only.example/",
  "https://1.1.1.1/",
  "https://172.15.255.255/",
  "https://172.32.0.1/",
  "https://100.128.0.1/",
  "https://[2606:4700:4700::1111]/",
  "https://[64:ff9b::1.1.1.1]/",
  "https://[2002:101:101::1]/"
]

describe("UrlSafety", () => {
  it.effect.each(badForm)("refuses what is no public HTTPS URL: %j", (url) =>
    Effect.map(messageOf(url), (message) => expect(message).toBe(notPublic)).pipe(Effect.provide(Strict))
  )
  it.effect.each(bad)("blocks an internal address, however it is written: %s", (url) =>
    Effect.map(messageOf(url), (message) => expect(message).toBe(blocked)).pipe(Effect.provide(Strict))
  )
  it.effect.each(good)("accepts a public URL: %s", (url) =>
    Effect.map(messageOf(url), (message) => expect(message).toBe("accepted")).pipe(Effect.provide(Strict))
  )

  it.effect("names the field that was checked", () =>
    Effect.gen(function* () {
      const safety = yield* UrlSafety
      const error = yield* Effect.flip(safety.check("https://10.0.0.1/", "webhook_url"))
      expect(error.message).toBe("webhook_url blocked by SSRF filter")
    }).pipe(Effect.provide(Strict))
  )
  it.effect("refuses a URL of more than 2048 characters", () =>
    Effect.map(messageOf(`https://example.com/${"a".repeat(2048)}`), (message) =>
      expect(message).toBe("server_url must not exceed 2048 characters")
    ).pipe(Effect.provide(Strict))
  )
  it.effect("a resolver that hangs is a name that does not resolve, after 5 s", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(messageOf("https://hangs.example/"))
      yield* TestClock.adjust(Duration.seconds(5))
      expect(yield* Fiber.join(fiber)).toBe(notPublic)
    }).pipe(Effect.provide(layerOf([], Layer.succeed(Resolver, { resolve: () => undefined }))))
  )

  describe("with SVC_ALLOW_PRIVATE_URLS", () => {
    it.effect.each([
      "http://localhost:3000/",
      "http://127.0.0.1/",
      "http://10.0.0.1/",
      "http://192.168.1.5:8080/",
      "http://[::1]/",
      "http://[fd12::1]/",
      "http://database/",
      "https://private.example/",
      "http://example.com/"
    ])("allows %s", (url) =>
      Effect.map(messageOf(url), (message) => expect(message).toBe("accepted")).pipe(Effect.provide(Private))
    )
    it.effect.each([
      "http://169.254.169.254/",
      "http://0xa9fea9fe/",
      "http://[::ffff:169.254.169.254]/",
      "http://[fd00:ec2::254]/",
      "http://[64:ff9b::a9fe:a9fe]/",
      "http://100.100.100.200/",
      "http://metadata.google.internal/",
      "http://metadata.example/",
      "http://linklocal.example/",
      "http://224.0.0.1/"
    ])("still blocks %s", (url) =>
      Effect.map(messageOf(url), (message) => expect(message).toBe(blocked)).pipe(Effect.provide(Private))
    )
    it.effect("still refuses other schemes and credentials", () =>
      Effect.gen(function* () {
        expect(yield* messageOf("ftp://localhost/")).toBe(notPublic)
        expect(yield* messageOf("http://me@localhost/")).toBe(notPublic)
      }).pipe(Effect.provide(Private))
    )
  })
})

/** A server on this machine that counts who reaches it. */
const listening = Effect.acquireRelease(
  Effect.async<{ readonly port: number; readonly reached: () => number; readonly close: () => void }>((resume) => {
    let reached = 0
    const server = createServer((_, response) => response.end("inside"))
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

const refusal = (url: string) => Effect.map(Effect.flip(get(url)), (error) => error.code)

const get = (url: string) =>
  Effect.gen(function* () {
    const safety = yield* UrlSafety
    const agent = yield* Effect.acquireRelease(
      Effect.sync(() => new Agent({ connect: safety.connector({ timeout: 5000 }) })),
      (dispatcher) => Effect.promise(() => dispatcher.destroy())
    )
    return yield* Effect.tryPromise({
      try: () => request(url, { dispatcher: agent }).then((response) => response.body.text()),
      catch: (error) => new RequestFailed({ code: error instanceof Error && "code" in error ? error.code : undefined })
    })
  })

describe("UrlSafety.connector", () => {
  it.scoped("a name that turns inward between check and connection is not reached", () =>
    Effect.gen(function* () {
      const server = yield* listening
      const safety = yield* UrlSafety
      yield* safety.check("https://rebind.example/", "server_url")
      const code = yield* refusal(`http://rebind.example:${server.port}/`)
      expect(code).toBe("SVC_BLOCKED_ADDRESS")
      expect(server.reached()).toBe(0)
    }).pipe(Effect.provide(layerOf([], resolverOf({ "rebind.example": [["93.184.216.34"], ["127.0.0.1"]] }))))
  )
  it.scoped("one inward address among public ones is enough to refuse", () =>
    Effect.gen(function* () {
      const server = yield* listening
      const code = yield* refusal(`http://half.example:${server.port}/`)
      expect(code).toBe("SVC_BLOCKED_ADDRESS")
      expect(server.reached()).toBe(0)
    }).pipe(Effect.provide(layerOf([], resolverOf({ "half.example": [["127.0.0.1", "93.184.216.34"]] }))))
  )
  it.scoped("a literal address, which no resolver ever sees, is refused too", () =>
    Effect.gen(function* () {
      const server = yield* listening
      for (const host of ["127.0.0.1", "0x7f.1", "[::ffff:127.0.0.1]", "[::1]", "localhost"]) {
        expect(yield* refusal(`http://${host}:${server.port}/`)).toBe("SVC_BLOCKED_ADDRESS")
      }
      expect(server.reached()).toBe(0)
    }).pipe(Effect.provide(Strict))
  )
  it.scoped("connects to the address that was checked, where it is allowed", () =>
    Effect.gen(function* () {
      const server = yield* listening
      expect(yield* get(`http://inside.example:${server.port}/`)).toBe("inside")
      expect(yield* get(`http://127.0.0.1:${server.port}/`)).toBe("inside")
      expect(yield* refusal("http://169.254.169.254/")).toBe("SVC_BLOCKED_ADDRESS")
    }).pipe(
      Effect.provide(layerOf([["SVC_ALLOW_PRIVATE_URLS", "true"]], resolverOf({ "inside.example": [["127.0.0.1"]] })))
    )
  )
  it.scoped("a name that does not resolve is an ordinary connection failure", () =>
    Effect.gen(function* () {
      expect(yield* refusal("http://unknown.example/")).toBe("ENOTFOUND")
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
  it.effect("answers in both of node's shapes, and by family", () =>
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
