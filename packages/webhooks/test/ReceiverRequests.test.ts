import { subscribe, unsubscribe } from "node:diagnostics_channel"
import * as https from "node:https"
import type { AddressInfo } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { certificate } from "@svc/providers/testing/LocalCertificate"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { ConfigProvider, Deferred, Effect, Exit, Layer } from "effect"
import { type AttemptResult, receiverRequests, timedOut } from "../src/delivery/ReceiverRequests.ts"
import { serve } from "./Receiver.ts"

const layerOf = (allowPrivate: boolean) =>
  UrlSafety.layer.pipe(
    Layer.provide(Resolver.layer),
    Layer.provide(
      Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["SVC_ALLOW_PRIVATE_URLS", String(allowPrivate)]])))
    )
  )

/** `isRead` completes when the client has read the head of the next answer. */
const headOfAnswer = Effect.gen(function* () {
  const read = yield* Deferred.make<void>()
  const listener = () => Deferred.unsafeDone(read, Exit.void)
  yield* Effect.acquireRelease(
    Effect.sync(() => subscribe("undici:request:headers", listener)),
    () => Effect.sync(() => void unsubscribe("undici:request:headers", listener))
  )
  return { isRead: Deferred.await(read) }
})

/** Sends a request, and cancels it when `when` completes. */
const send = (url: string, when: Effect.Effect<unknown> = Effect.never) =>
  Effect.gen(function* () {
    const safety = yield* UrlSafety
    const { post } = yield* Effect.acquireRelease(
      Effect.sync(() => receiverRequests(safety.connector())),
      ({ close }) => Effect.promise(close)
    )
    const done = yield* Deferred.make<AttemptResult>()
    const cancel = post({ url, headers: { "x-a": "b" }, body: "{}" }, (result) =>
      Deferred.unsafeDone(done, Exit.succeed(result))
    )
    yield* Effect.fork(Effect.zipRight(when, Effect.sync(cancel)))
    return yield* Deferred.await(done)
  })

/** The result of a request that gets no answer. The whole text, so that it has no part of the URL. */
const unreached = (fault: string): AttemptResult => ({
  status_code: null,
  error: `the URL could not be reached: ${fault}`
})

describe("receiverRequests", () => {
  it.scopedLive("post succeeds with any 2xx, fails with the status otherwise, and does not follow redirects", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const { url } = yield* serve((request, response) => {
        seen.push(`${request.method} ${request.url} ${request.headers["x-a"]}`)
        const status = Number(new URL(request.url ?? "", "http://x").searchParams.get("a"))
        response.writeHead(status, { location: "/other?a=200" }).end()
      })
      const to = (status: number) => send(url.replace("a=b", `a=${status}`))
      expect(yield* to(200)).toEqual({ status_code: 200, error: null })
      expect(yield* to(204)).toEqual({ status_code: 204, error: null })
      expect(yield* to(302)).toEqual({ status_code: 302, error: "redirects are not followed (302)" })
      expect(yield* to(410)).toEqual({ status_code: 410, error: "status 410" })
      expect(yield* to(503)).toEqual({ status_code: 503, error: "status 503" })
      expect(seen).toEqual([200, 204, 302, 410, 503].map((status) => `POST /events?a=${status} b`))
    }).pipe(Effect.provide(layerOf(true)))
  )

  it.scopedLive("post reads 4 KB of an answer; one that never ends counts by its status when it is cancelled", () =>
    Effect.gen(function* () {
      let sent = 0
      const endless = yield* serve((_, response) => {
        response.writeHead(200)
        const more = () => {
          while (response.writable && response.write("x".repeat(1024))) sent += 1024
        }
        response.on("drain", more).on("error", () => {})
        more()
      })
      expect(yield* send(endless.url)).toEqual({ status_code: 200, error: null })
      // The connection is closed: only what its buffers held was sent.
      expect(sent).toBeLessThan(16 * 1024 * 1024)
      const dripping = yield* serve((_, response) => void response.writeHead(200).write("x"))
      const head = yield* headOfAnswer
      expect(yield* send(dripping.url, head.isRead)).toEqual({ status_code: 200, error: null })
    }).pipe(Effect.provide(layerOf(true)))
  )

  it.scopedLive("post fails when the receiver hangs, breaks the connection, answers garbage or does not listen", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const hanging = yield* serve(() => Deferred.unsafeDone(asked, Exit.void))
      expect(yield* send(hanging.url, Deferred.await(asked))).toEqual(timedOut)
      const breaking = yield* serve((request) => request.socket.destroy())
      expect(yield* send(breaking.url)).toEqual(
        unreached("its server closed the connection before its response was complete. Look in the log of that server")
      )
      const garbled = yield* serve((request) => request.socket.end("what?\u0000\r\n\r\n"))
      expect(yield* send(garbled.url)).toEqual(unreached("its server does not speak HTTP at this port. Check the port"))
      const { server, url } = yield* serve(() => undefined)
      yield* Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
      expect(yield* send(url.replace("//", "//user:pw@"))).toEqual(
        unreached("its server refused the connection. Check that it runs, and the port")
      )
      expect(yield* send("no url")).toEqual({ status_code: null, error: "not a URL" })
    }).pipe(Effect.provide(layerOf(true)))
  )

  it.scopedLive("post says what is wrong with a certificate, and with a port without TLS", () =>
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.async<https.Server>((resume) => {
          const server = https.createServer(certificate, (_, response) => void response.end())
          server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      const { port } = server.address() as AddressInfo
      expect(yield* send(`https://127.0.0.1:${port}/?key=s3cret`)).toEqual(
        unreached("its TLS certificate is self-signed. Use one that a public authority has signed")
      )
      const plain = yield* serve((_, response) => void response.end())
      expect(yield* send(plain.url.replace("http:", "https:"))).toEqual(
        unreached("its server does not speak TLS at this port, which https needs. Check the port")
      )
    }).pipe(Effect.provide(layerOf(true)))
  )

  it.scopedLive("post refuses addresses of private networks when it connects", () =>
    Effect.gen(function* () {
      let requests = 0
      const { url } = yield* serve((_, response) => {
        requests++
        response.end()
      })
      for (const blocked of [
        url,
        url.replace("http:", "https:"),
        "https://localhost/",
        "https://169.254.169.254/latest"
      ]) {
        expect(yield* send(blocked)).toEqual(
          unreached(
            "its address, scheme or port is blocked by SSRF filter. Give a public https address with the usual port, " +
              "or have the operator of this server set SVC_ALLOW_PRIVATE_URLS=true"
          )
        )
      }
      expect(requests).toBe(0)
    }).pipe(Effect.provide(layerOf(false)))
  )
})
