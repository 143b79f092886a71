import { describe, expect, it } from "@effect/vitest"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { ConfigProvider, Deferred, Effect, Exit, Layer, Logger, TestClock } from "effect"
import { layerOf, ReceiverClient, type RequestThread, threadFailed } from "../src/delivery/ReceiverClient.ts"
import { type AttemptResult, timedOut } from "../src/delivery/ReceiverRequests.ts"
import type { FromThread, ToThread } from "../src/delivery/ReceiverThread.ts"
import { serve } from "./Receiver.ts"

const request = (url: string, body = "{}") => ({ url, headers: { "x-a": "b" }, body })

/** Every name has the address of this machine. */
const names: Array<string> = []
const LocalResolver = Layer.succeed(Resolver, {
  resolve: (name, done) => {
    names.push(name)
    if (name === "unknown.test") done(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }), [])
    else done(null, [{ address: "127.0.0.1", family: 4 }])
  }
})

const Safety = (allowPrivate: boolean) =>
  UrlSafety.layer.pipe(
    Layer.provide(LocalResolver),
    Layer.provide(
      Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["SVC_ALLOW_PRIVATE_URLS", String(allowPrivate)]])))
    )
  )

const send = (url: string, body?: string) =>
  Effect.flatMap(ReceiverClient, ({ post }) =>
    Effect.async<AttemptResult>((resume) => void post(request(url, body), (result) => resume(Effect.succeed(result))))
  )

const real = (allowPrivate: boolean) => ReceiverClient.layer.pipe(Layer.provide(Safety(allowPrivate)))

describe("ReceiverClient", () => {
  it.scopedLive("post sends from its thread, with names that this process resolves", () =>
    Effect.gen(function* () {
      const bodies: Array<string> = []
      const { url } = yield* serve((request, response) => {
        let body = ""
        request.on("data", (chunk) => {
          body += chunk
        })
        request.on("end", () => {
          bodies.push(`${request.headers["x-a"]} ${body.length}`)
          response.end()
        })
      })
      const named = url.replace("127.0.0.1", "receiver.test")
      // Larger than what is passed to the thread in one message.
      expect(yield* send(named, "x".repeat(200_000))).toEqual({ status_code: 200, error: null })
      const results = yield* Effect.all(
        Array.from({ length: 100 }, () => send(named)),
        { concurrency: "unbounded" }
      )
      expect(results).toEqual(Array(100).fill({ status_code: 200, error: null }))
      expect(bodies).toEqual(["b 200000", ...Array(100).fill("b 2")])
      expect(new Set(names)).toEqual(new Set(["receiver.test"]))
      expect(yield* send("http://unknown.test/")).toEqual({
        status_code: null,
        error: "the URL could not be reached: its host name was not found. Check its spelling"
      })
    }).pipe(Effect.provide(real(true)))
  )

  it.scopedLive("post refuses private addresses in the thread too", () =>
    Effect.gen(function* () {
      const { server, url } = yield* serve((_, response) => void response.end())
      let connections = 0
      server.on("connection", () => connections++)
      for (const blocked of [url, url.replace("http:", "https:"), "https://receiver.test/"]) {
        expect(yield* send(blocked)).toMatchObject({
          error: expect.stringContaining("its address, scheme or port is blocked by SSRF filter")
        })
      }
      expect(connections).toBe(0)
    }).pipe(Effect.provide(real(false)))
  )

  it.scopedLive("a cancelled request ends, and its receiver sees the connection close", () =>
    Effect.gen(function* () {
      const closed = yield* Deferred.make<void>()
      const asked = yield* Deferred.make<void>()
      const { url } = yield* serve((request) => {
        request.socket.on("close", () => Deferred.unsafeDone(closed, Exit.void))
        Deferred.unsafeDone(asked, Exit.void)
      })
      const { post } = yield* ReceiverClient
      const done = yield* Deferred.make<AttemptResult>()
      const cancel = post(request(url), (result) => Deferred.unsafeDone(done, Exit.succeed(result)))
      yield* Deferred.await(asked)
      cancel()
      cancel()
      expect(yield* Deferred.await(done)).toEqual(timedOut)
      yield* Deferred.await(closed)
    }).pipe(Effect.provide(real(true)))
  )
})

/** Threads that do nothing by themselves. */
const fakeThreads = () => {
  const threads: Array<{
    readonly got: Array<ToThread>
    readonly say: (message: FromThread) => void
    readonly exit: (error: Error) => void
    ended: boolean
  }> = []
  const start = (): RequestThread => {
    let onMessage: (message: FromThread) => void = () => undefined
    let onExit: (error: Error) => void = () => undefined
    const thread = {
      got: [] as Array<ToThread>,
      say: (message: FromThread) => onMessage(message),
      exit: (error: Error) => onExit(error),
      ended: false
    }
    threads.push(thread)
    return {
      postMessage: (message) => void thread.got.push(message),
      onMessage: (handler) => {
        onMessage = handler
      },
      onExit: (handler) => {
        onExit = handler
      },
      terminate: () => {
        thread.ended = true
      }
    }
  }
  return { threads, client: layerOf(start).pipe(Layer.provide(Safety(true))) }
}

/** The messages of this turn have been passed to the thread. */
const passed = Effect.promise(() => Promise.resolve())

describe("a thread of the client", () => {
  it.scoped("that ends fails its requests, and the next request starts another", () => {
    const { client, threads } = fakeThreads()
    const logged: Array<string> = []
    const log = Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ message }) => void logged.push(String(message)))
    )
    return Effect.gen(function* () {
      const { post } = yield* ReceiverClient
      const results: Array<readonly [string, AttemptResult]> = []
      const started = (name: string) => post(request("http://a/"), (result) => void results.push([name, result]))
      started("first")
      started("second")
      yield* passed
      threads[0]?.say({ _tag: "Results", results: [[0, { status_code: 204, error: null }]] })
      threads[0]?.exit(new Error("ENOMEM /srv/secret.js"))
      expect(results).toEqual([
        ["first", { status_code: 204, error: null }],
        ["second", threadFailed]
      ])
      started("third")
      yield* passed
      expect(threads).toHaveLength(2)
      // What the old one still says is ignored, and so are results that nobody waits for.
      threads[0]?.say({ _tag: "Results", results: [[2, { status_code: 500, error: "status 500" }]] })
      threads[1]?.say({ _tag: "Results", results: [[1, { status_code: 500, error: "status 500" }]] })
      threads[1]?.say({ _tag: "Results", results: [[2, { status_code: 200, error: null }]] })
      expect(results.slice(2)).toEqual([["third", { status_code: 200, error: null }]])
      yield* Effect.yieldNow()
      expect(logged).toEqual([
        expect.stringMatching(/^The thread that sends deliveries ended; its requests failed.*ENOMEM/s)
      ])
      expect(threadFailed.error).not.toMatch(/ENOMEM|secret/)
    }).pipe(Effect.provide(client), Effect.provide(log))
  })

  it.scoped("that does not answer a cancellation is ended, and another is used", () => {
    const { client, threads } = fakeThreads()
    return Effect.gen(function* () {
      const { post } = yield* ReceiverClient
      const results: Array<AttemptResult> = []
      const cancel = post(request("http://a/"), (result) => void results.push(result))
      yield* passed
      cancel()
      expect(threads[0]?.got.map(({ _tag }) => _tag)).toEqual(["Post", "Cancel"])
      yield* TestClock.adjust("1999 millis")
      expect(results).toEqual([])
      yield* TestClock.adjust("1 millis")
      expect(results).toEqual([threadFailed])
      expect(threads[0]?.ended).toBe(true)
      post(request("http://a/"), () => undefined)
      yield* passed
      expect(threads).toHaveLength(2)
    }).pipe(Effect.provide(client))
  })

  it.scoped("gets requests that were cancelled at once too", () => {
    const { client, threads } = fakeThreads()
    return Effect.gen(function* () {
      const { post } = yield* ReceiverClient
      post(request("http://a/"), () => undefined)()
      yield* passed
      expect(threads[0]?.got.map(({ _tag }) => _tag)).toEqual(["Post", "Cancel"])
    }).pipe(Effect.provide(client))
  })

  it.scoped("ends with the client, whose requests are then never completed", () => {
    const { client, threads } = fakeThreads()
    const results: Array<AttemptResult> = []
    return Effect.gen(function* () {
      const { post } = yield* ReceiverClient
      post(request("http://a/"), (result) => void results.push(result))
      yield* passed
    }).pipe(
      Effect.provide(client),
      Effect.zipRight(
        Effect.sync(() => {
          expect(threads[0]?.ended).toBe(true)
          threads[0]?.exit(new Error("ended"))
          expect(results).toEqual([])
        })
      )
    )
  })
})
