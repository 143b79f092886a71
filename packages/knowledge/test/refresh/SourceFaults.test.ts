import { createServer as createTlsServer } from "node:https"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { certificate } from "@svc/providers/testing/LocalCertificate"
import { Effect } from "effect"
import { requestFault } from "../../src/refresh/SourceFaults.ts"
import { SourceReader } from "../../src/refresh/SourceReader.ts"
import { Reading, Strict, site } from "./Site.ts"

const reasonOf = (url: string) =>
  Effect.flatMap(SourceReader, (reader) => reader.read(url, Effect.succeed(true))).pipe(
    Effect.flip,
    Effect.map(({ reason }) => reason)
  )

/** The port of a server, which ends with the scope. */
const portOf = (server: Server) =>
  Effect.acquireRelease(
    Effect.async<number>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
    }),
    () => Effect.sync(() => server.close())
  )
const answering = (answer: (socket: Socket) => void) =>
  portOf(createServer((socket) => void socket.on("error", () => undefined).once("data", () => answer(socket))))

describe("last_error of a source that cannot be requested", () => {
  it.scopedLive("says that a server does not speak TLS or HTTP at the port", () =>
    Effect.gen(function* () {
      const { url } = yield* site
      const https = `${url.replace("http:", "https:")}/`
      expect(yield* reasonOf(https)).toBe(
        `${https} cannot be read: its server does not speak TLS at this port, which https needs. Check the port`
      )
      const mail = yield* answering((socket) => socket.end("220 mail.example.com ESMTP\r\n"))
      expect(yield* reasonOf(`http://127.0.0.1:${mail}/`)).toBe(
        `http://127.0.0.1:${mail}/ cannot be read: its server does not speak HTTP at this port. Check the port`
      )
      const broken = yield* answering((socket) => socket.end("HTTP/1.1 200 OK\r\nA\u0001B: C\r\n\r\n"))
      expect(yield* reasonOf(`http://127.0.0.1:${broken}/`)).toContain("the response of its server is not valid HTTP")
    }).pipe(Effect.provide(Reading))
  )

  it.scopedLive("says what is wrong with a certificate", () =>
    Effect.gen(function* () {
      const port = yield* portOf(createTlsServer(certificate, (_, response) => void response.end()))
      expect(yield* reasonOf(`https://127.0.0.1:${port}/`)).toBe(
        `https://127.0.0.1:${port}/ cannot be read: its TLS certificate is self-signed. Use one that a public authority has signed`
      )
    }).pipe(Effect.provide(Reading))
  )

  it.scopedLive("says that a server refuses or closes connections, and that a name is not found", () =>
    Effect.gen(function* () {
      const closed = "its server closed the connection before its response was complete"
      const resets = yield* answering((socket) => void socket.resetAndDestroy())
      expect(yield* reasonOf(`http://127.0.0.1:${resets}/`)).toContain(closed)
      const ends = yield* answering((socket) => void socket.end())
      expect(yield* reasonOf(`http://127.0.0.1:${ends}/`)).toContain(closed)
      const unused = yield* Effect.scoped(answering(() => undefined))
      expect(yield* reasonOf(`http://127.0.0.1:${unused}/`)).toBe(
        `http://127.0.0.1:${unused}/ cannot be read: its server refused the connection. Check that it runs, and the port`
      )
      expect(yield* reasonOf("http://no-such-host.invalid/")).toBe(
        "http://no-such-host.invalid/ cannot be read: its host name was not found. Check its spelling"
      )
    }).pipe(Effect.provide(Reading))
  )

  it.effect("says which addresses are not allowed, and which setting allows them", () =>
    Effect.gen(function* () {
      const setting = "The operator of this server can allow it with SVC_ALLOW_PRIVATE_URLS=true"
      for (const [url, reason] of [
        [
          "https://10.0.0.1/",
          `its host has a private address, which is not allowed. Give a public address. ${setting}`
        ],
        ["http://10.0.0.1/", `http and private addresses are not allowed. Give a public https address. ${setting}`],
        ["http://1.1.1.1/", `http is not allowed. Give the https address of the page. ${setting}`],
        ["https://169.254.169.254/", "its host has a reserved address, which is never requested. Give a public address"]
      ] as const) {
        expect(yield* reasonOf(url)).toBe(`${url} cannot be read: ${reason}`)
      }
    }).pipe(Effect.provide(Strict))
  )

  it("concerns the host, unless one response may be the cause", () => {
    const isOfHost = (code: string) => requestFault(Object.assign(new Error(code), { code })).isOfHost
    for (const code of [
      "ENOTFOUND",
      "ECONNREFUSED",
      "ETIMEDOUT",
      "CERT_HAS_EXPIRED",
      "SVC_BLOCKED_ADDRESS",
      "EPROTO"
    ]) {
      expect([code, isOfHost(code)]).toEqual([code, true])
    }
    for (const code of ["ECONNRESET", "UND_ERR_BODY_TIMEOUT", "UND_ERR_HEADERS_OVERFLOW", "EOTHER"]) {
      expect([code, isOfHost(code)]).toEqual([code, false])
    }
  })

  it.scopedLive(
    "names the page with its query and without credentials, also one that a redirect or a sitemap names",
    () =>
      Effect.gen(function* () {
        const made = yield* site
        const unused = yield* Effect.scoped(answering(() => undefined))
        const to = (location: string) => ({ status: 302, headers: { location } })
        made.pages.set("/refused", to(`http://127.0.0.1:${unused}/page?page=3#part`))
        made.pages.set("/credentials", to("http://user:s3cret@127.0.0.1/page"))
        const reasons = [
          yield* reasonOf(`${made.url}/gone?page=1`),
          yield* reasonOf(`${made.url}/refused`),
          yield* reasonOf(`${made.url}/credentials`),
          yield* reasonOf(made.list(["/a?page=1", "/b?page=2"]))
        ]
        const refused = "cannot be read: its server refused the connection. Check that it runs, and the port"
        expect(reasons).toEqual([
          `${made.url}/gone?page=1 answered with status 404`,
          `http://127.0.0.1:${unused}/page?page=3 ${refused}`,
          "http://127.0.0.1/page cannot be read: the address contains a user name or password, which is not allowed",
          `${made.url}/sitemap.xml lists 2 pages, none of which could be read: ${made.url}/a?page=1 answered with status 404`
        ])
      }).pipe(Effect.provide(Reading))
  )
})
