import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import * as net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as tls from "node:tls"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Queue } from "effect"
import type { Destination, Source } from "../../src/transport/Connections.ts"
import * as Tls from "../../src/transport/Tls.ts"
import * as TlsFiles from "../../src/transport/TlsFiles.ts"
import { type Certificate, certificate } from "../Certificates.ts"

const message = (callId: string): string =>
  `OPTIONS sip:a@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/TLS 127.0.0.1;branch=z9hG4bK1\r\nCall-ID: ${callId}\r\nContent-Length: 0\r\n\r\n`

const callIdOf = (bytes: Uint8Array): string => /Call-ID: (\S+)/.exec(Buffer.from(bytes).toString())?.[1] ?? ""

const authority = certificate({ names: ["Test authority"] })
const trunk = certificate({ names: ["trunk.example", "127.0.0.1", "sip:pbx.example"], issuer: authority })

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-tls-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** Files with a certificate of ours, and with the authority that is trusted beside those of Node. */
const filesOf = (own: Certificate | undefined, trusted: Certificate | undefined) =>
  Effect.map(folder, (path): TlsFiles.TlsFiles => {
    const [cert, key, ca] = [join(path, "cert.pem"), join(path, "key.pem"), join(path, "ca.pem")]
    if (own !== undefined) writeFileSync(cert, own.certificate)
    if (own !== undefined) writeFileSync(key, own.key)
    if (trusted !== undefined) writeFileSync(ca, trusted.certificate)
    return {
      ...(own === undefined ? {} : { own: { certificate: cert, key } }),
      ...(trusted === undefined ? {} : { authorities: ca })
    }
  })

interface Given {
  readonly own?: Certificate
  readonly trusted?: Certificate
  readonly isAllowed?: (address: string) => boolean
  readonly handshakeMs?: number
}

/** TLS on a free port, with what it receives and warns of. */
const listening = ({ handshakeMs = 10_000, isAllowed = () => true, own, trusted }: Given) =>
  Effect.gen(function* () {
    const messages = yield* Queue.unbounded<readonly [string, Source]>()
    const warnings: Array<string> = []
    const files = yield* filesOf(own, trusted)
    const identity = yield* TlsFiles.open(files, (text) => warnings.push(text))
    const transport = yield* Tls.listen({
      address: "127.0.0.1",
      port: 0,
      identity,
      isAllowed,
      handshakeMs,
      onMessage: (bytes, from) => Queue.unsafeOffer(messages, [callIdOf(bytes), from])
    })
    /** Sends, and fails with the reason when that is not possible. */
    const refusal = (text: string, to: Destination) =>
      Effect.async<string>((resume) =>
        transport.send(Buffer.from(text), to, (reason) => resume(Effect.succeed(reason)))
      )
    return { files, messages, refusal, transport, warnings, port: transport.port ?? 0 }
  })

const server = listening({ own: trunk })

/** A plain TCP connection to a TLS port, which can be closed by it. */
const rawClient = (port: number) =>
  Effect.gen(function* () {
    const closed = yield* Deferred.make<void>()
    const socket = yield* Effect.acquireRelease(
      Effect.async<net.Socket>((resume) => {
        const opened = net.connect(port, "127.0.0.1", () => resume(Effect.succeed(opened)))
      }),
      (opened) => Effect.sync(() => opened.destroy())
    )
    socket.on("error", () => {})
    socket.on("data", () => {})
    socket.on("close", () => Deferred.unsafeDone(closed, Effect.void))
    return { socket, closed: Deferred.await(closed) }
  })

/** The certificate that a TLS port shows. */
const shown = (port: number) =>
  Effect.async<string>((resume) => {
    const socket = tls.connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      resume(Effect.succeed(String(socket.getPeerCertificate().subject.CN)))
      socket.destroy()
    })
  })

describe("Tls", () => {
  it.live("verifies the server by its name, sends both ways, and uses a connection again", () =>
    Effect.gen(function* () {
      const { messages, port, transport } = yield* server
      const client = yield* listening({ trusted: authority })
      expect(client.transport.port).toBeUndefined()
      const to = { address: "127.0.0.1", port, host: "trunk.example" }
      client.transport.send(Buffer.from(message("one")), to, () => {})
      const [first, from] = yield* Queue.take(messages)
      expect(first).toBe("one")
      client.transport.send(Buffer.from(message("two")), to, () => {})
      const [second, again] = yield* Queue.take(messages)
      expect([second, again.connection]).toEqual(["two", from.connection])
      transport.send(Buffer.from(message("back")), from, () => {})
      expect((yield* Queue.take(client.messages))[0]).toBe("back")
      // Another name is another server, which must prove that name.
      client.transport.send(Buffer.from(message("three")), { ...to, host: "pbx.example" }, () => {})
      const [third, other] = yield* Queue.take(messages)
      expect(third).toBe("three")
      expect(other.connection).not.toBe(from.connection)
      // An IP address is verified as one.
      client.transport.send(Buffer.from(message("four")), { address: "127.0.0.1", port }, () => {})
      expect((yield* Queue.take(messages))[0]).toBe("four")
    }).pipe(Effect.scoped)
  )

  it.live("sends nothing to a server that is not verified, and says why and which setting to look at", () =>
    Effect.gen(function* () {
      const to = (port: number, host: string) => ({ address: "127.0.0.1", port, host })
      const client = yield* listening({ trusted: authority })
      const good = yield* server
      expect(yield* client.refusal(message("name"), to(good.port, "other.example"))).toMatch(
        /is not of other\.example; SVC_SIP_TRUNK_URI .*trunk\.example/
      )
      const old = yield* listening({
        own: certificate({ names: ["trunk.example"], days: [-30, -1], issuer: authority })
      })
      expect(old.warnings).toEqual([expect.stringMatching(/^SVC_SIP_TLS_CERT: the certificate has expired on /)])
      expect(yield* client.refusal(message("old"), to(old.port, "trunk.example"))).toBe("its certificate has expired")
      const strange = yield* listening({ own: certificate({ names: ["trunk.example"] }) })
      expect(yield* client.refusal(message("strange"), to(strange.port, "trunk.example"))).toContain("SVC_SIP_TLS_CA")
      const plainText = yield* Effect.acquireRelease(
        Effect.async<net.Server>((resume) => {
          const opened = net.createServer((socket) => {
            socket.on("error", () => {})
            socket.end("SIP/2.0 400 Bad Request\r\n\r\n")
          })
          opened.listen(0, "127.0.0.1", () => resume(Effect.succeed(opened)))
        }),
        (opened) => Effect.sync(() => opened.close())
      )
      const bound = plainText.address()
      const plainPort = typeof bound === "object" && bound !== null ? bound.port : 0
      expect(yield* client.refusal(message("plain"), to(plainPort, "trunk.example"))).not.toBe("")
      for (const each of [good, old, strange]) expect(yield* Queue.size(each.messages)).toBe(0)
    }).pipe(Effect.scoped)
  )

  it.live("gives up a server that never answers the handshake", () =>
    Effect.gen(function* () {
      const silent = yield* Effect.acquireRelease(
        Effect.async<net.Server>((resume) => {
          const opened = net.createServer((socket) => socket.on("error", () => {}))
          opened.listen(0, "127.0.0.1", () => resume(Effect.succeed(opened)))
        }),
        (opened) => Effect.sync(() => opened.close())
      )
      const bound = silent.address()
      const port = typeof bound === "object" && bound !== null ? bound.port : 0
      const client = yield* listening({ handshakeMs: 50 })
      const to = { address: "127.0.0.1", port, host: "trunk.example" }
      expect(yield* client.refusal(message("one"), to)).toBe("it did not answer in time")
    }).pipe(Effect.scoped)
  )

  it.live(
    "ends clients that stay silent, are slow, or send garbage in the handshake, and serves others meanwhile",
    () =>
      Effect.gen(function* () {
        const { messages, port } = yield* listening({ own: trunk, handshakeMs: 100 })
        const silent = yield* rawClient(port)
        const slow = yield* rawClient(port)
        // The head of a TLS record of 512 bytes, which come one by one.
        slow.socket.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00]))
        yield* Effect.forkScoped(
          Effect.forever(
            Effect.zipRight(
              Effect.sleep(10),
              Effect.sync(() => slow.socket.write(Buffer.from([1])))
            )
          )
        )
        const garbage = yield* rawClient(port)
        garbage.socket.write(message("not encrypted"))
        yield* garbage.closed
        const client = yield* listening({ trusted: authority })
        client.transport.send(
          Buffer.from(message("good")),
          { address: "127.0.0.1", port, host: "trunk.example" },
          () => {}
        )
        expect((yield* Queue.take(messages))[0]).toBe("good")
        yield* silent.closed
        yield* slow.closed
        expect(yield* Queue.size(messages)).toBe(0)
      }).pipe(Effect.scoped)
  )

  it.live("closes connections of addresses that are not allowed, and more than 100 of one, also in the handshake", () =>
    Effect.gen(function* () {
      const closed = yield* listening({ own: trunk, isAllowed: () => false })
      yield* (yield* rawClient(closed.port)).closed
      const { port } = yield* server
      const clients = yield* Effect.forEach(Array.from({ length: 101 }), () => rawClient(port))
      const last = clients.at(-1)
      if (last !== undefined) yield* last.closed
      expect(clients.filter(({ socket }) => !socket.destroyed)).toHaveLength(100)
    }).pipe(Effect.scoped)
  )

  it.live("shows a certificate that was replaced at the next connection, and keeps the former when it is damaged", () =>
    Effect.gen(function* () {
      const { files, port, warnings } = yield* server
      if (files.own === undefined) return expect.fail("there are no files")
      expect(yield* shown(port)).toBe("trunk.example")
      const next = certificate({ names: ["next.example"], issuer: authority })
      writeFileSync(files.own.certificate, next.certificate)
      expect(yield* shown(port)).toBe("trunk.example")
      expect(warnings).toEqual([expect.stringMatching(/^SVC_SIP_TLS_KEY: .* is not the key of the certificate/)])
      writeFileSync(files.own.key, next.key)
      expect(yield* shown(port)).toBe("next.example")
      rmSync(files.own.key)
      expect(yield* shown(port)).toBe("next.example")
      expect(warnings.at(-1)).toMatch(/^SVC_SIP_TLS_KEY: cannot read .* \(ENOENT\)/)
    }).pipe(Effect.scoped)
  )
})

describe("TlsFiles", () => {
  it.scoped("names the setting whose file cannot be used, and why", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const write = (name: string, text: string) => {
        writeFileSync(join(path, name), text)
        return join(path, name)
      }
      const certificateFile = write("cert.pem", trunk.certificate)
      const key = write("key.pem", trunk.key)
      const otherKey = write("other.pem", authority.key)
      const noPem = write("empty.pem", "nothing")
      const damaged = write("damaged.pem", trunk.certificate.replace(/\n.{20}/, "\nAAAA"))
      const absent = join(path, "absent.pem")
      const failureOf = (files: TlsFiles.TlsFiles) =>
        Effect.map(Effect.flip(TlsFiles.open(files, () => {})), ({ reason, setting }) => `${setting}: ${reason}`)
      const own = (cert: string, keyFile: string) => failureOf({ own: { certificate: cert, key: keyFile } })
      expect(yield* own(absent, key)).toBe(`SVC_SIP_TLS_CERT: cannot read ${absent} (ENOENT)`)
      expect(yield* own(certificateFile, absent)).toBe(`SVC_SIP_TLS_KEY: cannot read ${absent} (ENOENT)`)
      expect(yield* own(noPem, key)).toMatch(/^SVC_SIP_TLS_CERT: .* has no certificate in PEM/)
      expect(yield* own(damaged, key)).toMatch(/^SVC_SIP_TLS_CERT: .* has a damaged certificate/)
      expect(yield* own(certificateFile, noPem)).toMatch(/^SVC_SIP_TLS_KEY: .* has no private key/)
      expect(yield* own(certificateFile, otherKey)).toMatch(/^SVC_SIP_TLS_KEY: .* is not the key of the certificate/)
      expect(yield* failureOf({ authorities: noPem })).toMatch(/^SVC_SIP_TLS_CA: .* has no certificate/)
    })
  )
})
