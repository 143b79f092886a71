import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { legFormats } from "@svc/providers/Audio"
import { Effect, Fiber, Schedule } from "effect"
import { until } from "./BaresipPhone.ts"
import { certificate } from "./Certificates.ts"
import * as Kamailio from "./Kamailio.ts"
import { answerNext, PeerCall, telephonyOf } from "./PeerCall.ts"

/** The proxy has an address of its own, so that what does not go through it can be distinguished. */
const proxy = "127.0.0.4"
const proxyPort = 23_581

const authority = certificate({ names: ["Test authority"] })

/** A proxy that takes calls over TLS, and passes them on over TLS to `target`, staying in the route. */
const configOf = (folder: string, target: number): string =>
  Kamailio.proxy({
    listen: `tls:${proxy}:${proxyPort}`,
    globals: ["tcp_children=2", "enable_tls=yes"],
    modules: [
      'loadmodule "tls.so"',
      'modparam("tls", "tls_method", "TLSv1.2+")',
      `modparam("tls", "certificate", "${join(folder, "cert.pem")}")`,
      `modparam("tls", "private_key", "${join(folder, "key.pem")}")`,
      `modparam("tls", "ca_list", "${join(folder, "ca.pem")}")`,
      'modparam("tls", "verify_certificate", 1)',
      'modparam("tls", "require_certificate", 0)'
    ],
    destination: `$du = "sip:127.0.0.1:${target};transport=tls";`
  })

/** Certificates for an address, in the files of a folder. */
const filesFor = (path: string, address: string) => {
  const own = certificate({ names: [address], issuer: authority })
  return {
    tlsCert: Kamailio.write(path, "cert.pem", own.certificate),
    tlsKey: Kamailio.write(path, "key.pem", own.key),
    tlsCa: Kamailio.write(path, "ca.pem", authority.certificate)
  }
}

/** Whether kamailio is installed with its module for TLS, which is a package of its own. */
const isInstalled = Effect.runSync(
  Effect.scoped(
    Effect.map(Kamailio.folder, (path) => {
      filesFor(path, proxy)
      return Kamailio.accepts(path, configOf(path, 5061))
    })
  )
)

const absent =
  "kamailio with TLS is not installed: its tests were not run (on Debian: apt-get install kamailio kamailio-tls-modules)"

const kamailio = (target: number) =>
  Effect.gen(function* () {
    const path = yield* Kamailio.folder
    filesFor(path, proxy)
    yield* Kamailio.run(path, configOf(path, target))
  })

describe.skipIf(!isInstalled)(isInstalled ? "calls through kamailio over TLS" : absent, () => {
  it.scopedLive(
    "keep to the recorded route and its connections, carry encrypted audio, and are ended by either side",
    () =>
      Effect.gen(function* () {
        const tls = { transports: "tls", tlsBind: "127.0.0.1:0", srtp: "required" } as const
        const server = yield* telephonyOf(
          { ...tls, ...filesFor(yield* Kamailio.folder, "127.0.0.1"), rtpPorts: "34300-34349" },
          { isAllowed: (address) => address === proxy || address === "127.0.0.1" }
        )
        yield* kamailio(server.tlsPort)
        // The proxy opens connections of its own, so that both sides need a certificate.
        const files = filesFor(yield* Kamailio.folder, "127.0.0.1")
        const trunkUri = `sip:${proxy}:${proxyPort};transport=tls`
        const client = yield* telephonyOf({ ...tls, ...files, trunkUri, rtpPorts: "34350-34399" })
        const { outbound } = client.telephony
        if (outbound === undefined) return expect.fail("there is no way to place calls")
        // Until the proxy listens, no connection is made.
        const dial = outbound
          .dial({ callId: "one", to: "+12025550199", from: "+12025550100", formats: legFormats })
          .pipe(Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 100 }))
        for (const side of ["called", "calling"] as const) {
          const calling = yield* Effect.fork(dial)
          const called = yield* answerNext(server.telephony)
          const caller = new PeerCall(yield* Fiber.join(calling))
          yield* called.playTone
          yield* caller.playTone
          yield* until("audio both ways", () => called.sounding > 10 && caller.sounding > 10)
          const [ends, other] = side === "called" ? [called, caller] : [caller, called]
          ends.leg.hangup("done")
          yield* until("the end on the other side", () => other.ending !== undefined)
          expect(other.ending).toMatchObject({ cause: "hangup" })
        }
      }),
    60_000
  )
})
