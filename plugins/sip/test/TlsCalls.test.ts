import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { legFormats } from "@svc/providers/Audio"
import type { Telephony } from "@svc/providers/Telephony"
import { Effect, Fiber, Layer } from "effect"
import { until } from "./BaresipPhone.ts"
import { type Certificate, certificate } from "./Certificates.ts"
import { answerNext, PeerCall, telephonyOf } from "./PeerCall.ts"
import { plugin } from "./SipPhones.ts"

const authority = certificate({ names: ["Test authority"] })
const trunk = certificate({ names: ["trunk.example"], issuer: authority })

const files = (given: Certificate) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-tls-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
    ),
    (path) => {
      writeFileSync(join(path, "cert.pem"), given.certificate)
      writeFileSync(join(path, "key.pem"), given.key)
      return { tlsCert: join(path, "cert.pem"), tlsKey: join(path, "key.pem") }
    }
  )

/** DNS in which each name is this machine. */
const names = { services: () => Effect.succeed([]), addresses: () => Effect.succeed(["127.0.0.1"]) }

/** A server that accepts TLS, and another one that has it as its trunk, without a certificate of its own. */
const connected = (trunkUri: (port: number) => string) =>
  Effect.gen(function* () {
    const server = yield* telephonyOf({
      transports: "udp,tls",
      tlsBind: "127.0.0.1:0",
      rtpPorts: "32000-32049",
      ...(yield* files(trunk))
    })
    const { tlsCert } = yield* files(authority)
    const client = yield* telephonyOf(
      { transports: "tls", tlsCa: tlsCert, rtpPorts: "32050-32099", trunkUri: trunkUri(server.tlsPort) },
      { names }
    )
    return { server, client }
  })

const dial = ({ telephony: { outbound } }: { readonly telephony: typeof Telephony.Service }) =>
  outbound === undefined
    ? Effect.dieMessage("there is no way to place calls")
    : outbound.dial({ callId: "one", to: "+4930", from: "+4989", formats: legFormats })

describe("Calls over TLS", () => {
  for (const [name, uri] of [
    ["sip with transport=tls", (port: number) => `sip:trunk.example:${port};transport=tls`],
    ["sips", (port: number) => `sips:trunk.example:${port}`]
  ] as const) {
    it.scopedLive(`carry audio, and are ended by either side, also by the one that was called: ${name}`, () =>
      Effect.gen(function* () {
        const { client, server } = yield* connected(uri)
        for (const side of ["called", "calling"] as const) {
          const calling = yield* Effect.fork(dial(client))
          const called = yield* answerNext(server.telephony)
          const caller = new PeerCall(yield* Fiber.join(calling))
          yield* called.playTone
          yield* caller.playTone
          yield* until("audio both ways", () => called.sounding > 2 && caller.sounding > 2)
          const [ends, other] = side === "called" ? [called, caller] : [caller, called]
          ends.leg.hangup("done")
          yield* until("the end on the other side", () => other.ending !== undefined)
          expect(other.ending).toMatchObject({ cause: "hangup" })
        }
      })
    )
  }

  it.scopedLive("fail with a reason in the log when the trunk's certificate is not good", () =>
    Effect.gen(function* () {
      const { client } = yield* connected((port) => `sip:other.example:${port};transport=tls`)
      const error = yield* Effect.flip(dial(client))
      expect(error).toMatchObject({ _tag: "DialFailed", outcome: "failed" })
      expect(client.logged.map(({ message }) => message)).toContainEqual(
        expect.stringMatching(
          /^SIP: no TLS connection to other\.example .* is not of other\.example; SVC_SIP_TRUNK_URI/
        )
      )
    })
  )
})

describe("The settings of TLS", () => {
  it.scopedLive("stop the start with the name of the one that is wrong", () =>
    Effect.gen(function* () {
      const { tlsCert, tlsKey } = yield* files(trunk)
      const failureOf = (settings: Parameters<typeof plugin>[1]) =>
        Effect.map(
          Effect.flip(Effect.scoped(Layer.build(plugin(0, settings)))),
          ({ message, reason }) => `${message} ${reason}`
        )
      const tls = { transports: "udp,tls", tlsBind: "127.0.0.1:0" }
      expect(yield* failureOf({ ...tls, tlsCert })).toContain("SVC_SIP_TLS_CERT needs SVC_SIP_TLS_KEY")
      expect(yield* failureOf({ ...tls, tlsKey })).toContain("SVC_SIP_TLS_KEY needs SVC_SIP_TLS_CERT")
      expect(yield* failureOf({ ...tls, tlsCert: "/absent.pem", tlsKey })).toContain(
        "SVC_SIP_TLS_CERT: cannot read /absent.pem (ENOENT)"
      )
      expect(yield* failureOf({ trunkUri: "sips:trunk.example" })).toContain("add tls to SVC_SIP_TRANSPORTS")
      const taken = yield* telephonyOf({ ...tls, tlsCert, tlsKey, rtpPorts: "32000-32049" })
      const tlsBind = `127.0.0.1:${taken.tlsPort}`
      expect(yield* failureOf({ ...tls, tlsBind, tlsCert, tlsKey })).toMatch(/SVC_SIP_TLS_BIND: .*EADDRINUSE/)
    })
  )
})
