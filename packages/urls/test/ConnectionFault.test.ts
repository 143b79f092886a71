import * as http from "node:http"
import * as https from "node:https"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { certificate } from "@svc/providers/testing/LocalCertificate"
import { Data, Effect } from "effect"
import { Agent, request } from "undici"
import { type ConnectionCause, connectionFault, withAdvice } from "../src/ConnectionFault.ts"
import { UrlSafety } from "../src/UrlSafety.ts"
import { layerOf, resolverOf, Strict } from "./Resolvers.ts"

/** The port of a server on this machine, which ends with the scope. */
const portOf = (server: Server) =>
  Effect.acquireRelease(
    Effect.async<number>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
    }),
    () => Effect.sync(() => server.close())
  )

/** A server without a protocol, whose connections end with the scope. */
const raw = (onConnection: (socket: Socket) => void) =>
  Effect.gen(function* () {
    const open = new Set<Socket>()
    yield* Effect.addFinalizer(() => Effect.sync(() => open.forEach((socket) => void socket.destroy())))
    return yield* portOf(
      createServer((socket) => {
        open.add(socket)
        socket.on("error", () => undefined)
        onConnection(socket)
      })
    )
  })
const answering = (text: string) => raw((socket) => void socket.once("data", () => socket.end(text)))

class RequestFailed extends Data.TaggedError("RequestFailed")<{ readonly cause: unknown }> {}

/** The fault of a request that gets no complete answer. */
const faultOf = (url: string, connect: { readonly timeout?: number; readonly ca?: string } = {}, limitMs = 5_000) =>
  Effect.gen(function* () {
    const safety = yield* UrlSafety
    const agent = yield* Effect.acquireRelease(
      Effect.sync(
        () => new Agent({ connect: safety.connector(connect), headersTimeout: limitMs, bodyTimeout: limitMs })
      ),
      (agent) => Effect.promise(() => agent.destroy())
    )
    const { cause } = yield* Effect.flip(
      Effect.tryPromise({
        try: () => request(`${url}/?key=s3cret`, { dispatcher: agent }).then(({ body }) => body.text()),
        catch: (error) => new RequestFailed({ cause: error })
      })
    )
    return connectionFault(cause)
  })

const Local = layerOf([["SVC_ALLOW_PRIVATE_URLS", "true"]], resolverOf({ "other.example": [["127.0.0.1"]] }))

describe("the fault of a connection", () => {
  it.scopedLive("says that a port refuses connections, and that a name is not known", () =>
    Effect.gen(function* () {
      const unused = yield* Effect.scoped(raw(() => undefined))
      expect(yield* faultOf(`http://127.0.0.1:${unused}`)).toEqual({
        cause: "refused",
        what: "its server refused the connection",
        advice: "Check that it runs, and the port"
      })
      expect(yield* faultOf("http://nobody.example")).toMatchObject({
        cause: "dns",
        what: "its host name was not found"
      })
    }).pipe(Effect.provide(Local))
  )

  it.scopedLive("says that a server closes the connection: at once, after the request, during TLS, or too early", () =>
    Effect.gen(function* () {
      const ports = yield* Effect.all([
        raw((socket) => void socket.destroy()),
        raw((socket) => void socket.once("data", () => socket.resetAndDestroy())),
        answering(""),
        answering("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
      ])
      for (const url of ports.map((port) => `http://127.0.0.1:${port}`)) {
        expect(yield* faultOf(url)).toMatchObject({
          cause: "closed",
          what: "its server closed the connection before its response was complete"
        })
      }
      expect(yield* faultOf(`https://127.0.0.1:${ports[0]}`)).toMatchObject({
        cause: "tls",
        what: "its server closed the connection before TLS was set up"
      })
    }).pipe(Effect.provide(Local))
  )

  it.scopedLive("says that a server hangs: in TLS, before its response, and within it", () =>
    Effect.gen(function* () {
      const silent = yield* raw(() => undefined)
      expect(yield* faultOf(`https://127.0.0.1:${silent}`, { timeout: 50 })).toMatchObject({
        cause: "unreachable",
        what: "its server did not accept a connection in time"
      })
      const half = yield* raw((socket) => void socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"))
      for (const port of [silent, half]) {
        expect(yield* faultOf(`http://127.0.0.1:${port}`, {}, 50)).toMatchObject({
          cause: "timeout",
          what: "its server did not send its response in time"
        })
      }
    }).pipe(Effect.provide(Local))
  )

  it.scopedLive("says what is wrong with a certificate, and with TLS", () =>
    Effect.gen(function* () {
      const whatOf = (url: string, ca?: string) =>
        Effect.map(faultOf(url, ca === undefined ? {} : { ca }), ({ cause, what }) => {
          expect(cause).toBe("tls")
          return what
        })
      const answer = (_: unknown, response: http.ServerResponse) => void response.end()
      const port = yield* portOf(https.createServer(certificate, answer))
      expect(yield* whatOf(`https://127.0.0.1:${port}`)).toBe("its TLS certificate is self-signed")
      expect(yield* whatOf(`https://other.example:${port}`, certificate.cert)).toBe(
        "its TLS certificate is for another host name"
      )
      const plain = yield* portOf(http.createServer(answer))
      expect(yield* whatOf(`https://127.0.0.1:${plain}`)).toContain("does not speak TLS at this port")
      const demands = { ca: certificate.cert, requestCert: true, maxVersion: "TLSv1.2" } as const
      const strict = yield* portOf(https.createServer({ ...certificate, ...demands }, answer))
      expect(yield* whatOf(`https://127.0.0.1:${strict}`, certificate.cert)).toBe(
        "its server and this one agree on no TLS connection"
      )
    }).pipe(Effect.provide(Local))
  )

  it.scopedLive("says that a server does not speak HTTP, or badly", () =>
    Effect.gen(function* () {
      for (const [text, cause, what] of [
        ["220 mail.example.com ESMTP\r\n", "not-http", "its server does not speak HTTP at this port"],
        ["HTTP/1.1 200 OK\r\nA\u0001B: C\r\n\r\n", "invalid-http", "the response of its server is not valid HTTP"],
        [
          `HTTP/1.1 200 OK\r\nA: ${"x".repeat(100_000)}\r\n\r\n`,
          "invalid-http",
          "the headers of its response are too large"
        ]
      ] as const) {
        expect(yield* faultOf(`http://127.0.0.1:${yield* answering(text)}`)).toMatchObject({ cause, what })
      }
    }).pipe(Effect.provide(Local))
  )

  it.scopedLive("says that an address is not allowed", () =>
    Effect.gen(function* () {
      for (const url of ["https://10.0.0.1", "http://v6only.example", "https://v6only.example:25"]) {
        expect(yield* faultOf(url)).toMatchObject({
          cause: "blocked",
          what: "its address, scheme or port is blocked by SSRF filter"
        })
      }
    }).pipe(Effect.provide(Strict))
  )

  it.each<readonly [string, ConnectionCause, string]>([
    ["CERT_HAS_EXPIRED", "tls", "its TLS certificate has expired. Renew it"],
    [
      "CERT_NOT_YET_VALID",
      "tls",
      "its TLS certificate is not valid yet. Check its dates, and the clock of this server"
    ],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "tls", "its TLS certificate is not signed by an authority that is known here"],
    ["CERT_REVOKED", "tls", "its TLS certificate was not accepted (CERT_REVOKED)"],
    ["INVALID_CA", "tls", "its TLS certificate was not accepted (INVALID_CA)"],
    ["EPROTO", "tls", "its server and this one agree on no TLS connection. Check its TLS versions and ciphers"],
    ["ETIMEDOUT", "unreachable", "its server did not accept a connection in time. Check that it is online"],
    ["EHOSTUNREACH", "unreachable", "its server cannot be reached. Check that it is online, and its firewall"],
    ["EAI_AGAIN", "dns", "its host name could not be looked up, because the name server did not answer"],
    ["ERR_TLS_HANDSHAKE_TIMEOUT", "unreachable", "its server did not accept a connection in time"],
    ["UND_ERR_DESTROYED", "svc", "Svc was stopped before the response was complete"],
    [
      "EPERM",
      "svc",
      "the system of Svc does not permit the connection. The operator of this server can check its firewall"
    ],
    ["EMFILE", "svc", "Svc has no connection to spare. The operator of this server can raise its limit of open files"],
    ["EOTHER", "closed", "the connection failed (EOTHER)"],
    ["/../deps/openssl/x.c", "closed", "the connection failed"],
    ["constructor", "closed", "the connection failed"]
  ])("says in plain words what %s means", (code, cause, words) => {
    const message = "error:0A000410:SSL routines:../deps/openssl/x.c:1605: https://user:pw@example.com/?key=s3cret"
    const error = Object.assign(new Error(message), { code })
    const failed = Object.assign(new AggregateError([error], message), { code: "EGROUP" })
    for (const one of [error, failed, new Error(message, { cause: error })]) {
      const fault = connectionFault(one)
      expect(fault.cause).toBe(cause)
      expect(withAdvice(fault)).toContain(words)
      expect(withAdvice(fault)).not.toMatch(/openssl|routines|pw|s3cret|EGROUP/)
    }
  })

  it("has words for what is no error with a code", () => {
    for (const error of [undefined, null, "text", new Error("secret"), new AggregateError([], "secret"), { code: 5 }]) {
      expect(connectionFault(error)).toEqual({
        cause: "closed",
        what: "the connection failed",
        advice: null
      })
    }
  })
})
