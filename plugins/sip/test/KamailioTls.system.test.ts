import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { legFormats } from "@svc/providers/Audio"
import { Effect, Fiber, Schedule } from "effect"
import { until } from "./BaresipPhone.ts"
import { certificate } from "./Certificates.ts"
import { answerNext, PeerCall, telephonyOf } from "./PeerCall.ts"

/** The proxy has an address of its own, so that what does not go through it can be distinguished. */
const proxy = "127.0.0.4"
const proxyPort = 23_581

const authority = certificate({ names: ["Test authority"] })

/** A proxy that takes calls over TLS, and passes them on over TLS to `target`, staying in the route. */
const configOf = (folder: string, target: number): string => `#!KAMAILIO
debug=0
log_stderror=yes
children=1
tcp_children=2
auto_aliases=no
enable_tls=yes
listen=tls:${proxy}:${proxyPort}
loadmodule "tls.so"
loadmodule "tm.so"
loadmodule "sl.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "textops.so"
loadmodule "siputils.so"
modparam("tls", "tls_method", "TLSv1.2+")
modparam("tls", "certificate", "${join(folder, "cert.pem")}")
modparam("tls", "private_key", "${join(folder, "key.pem")}")
modparam("tls", "ca_list", "${join(folder, "ca.pem")}")
modparam("tls", "verify_certificate", 1)
modparam("tls", "require_certificate", 0)
request_route {
  if (has_totag()) {
    if (loose_route()) { t_relay(); exit; }
    if (is_method("ACK")) { if (t_check_trans()) { t_relay(); } exit; }
    sl_send_reply("404", "Not here");
    exit;
  }
  if (is_method("CANCEL")) { if (t_check_trans()) { t_relay(); } exit; }
  t_check_trans();
  record_route();
  $du = "sip:127.0.0.1:${target};transport=tls";
  t_relay();
}
`

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-kamailio-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const write = (path: string, name: string, text: string): string => {
  writeFileSync(join(path, name), text)
  return join(path, name)
}

/** Certificates for an address, in the files of a folder. */
const filesFor = (path: string, address: string) => {
  const own = certificate({ names: [address], issuer: authority })
  return {
    tlsCert: write(path, "cert.pem", own.certificate),
    tlsKey: write(path, "key.pem", own.key),
    tlsCa: write(path, "ca.pem", authority.certificate)
  }
}

/** Whether kamailio is installed with its module for TLS, which is a package of its own. */
const isInstalled = Effect.runSync(
  Effect.scoped(
    Effect.map(folder, (path) => {
      filesFor(path, proxy)
      const file = write(path, "kamailio.cfg", configOf(path, 5061))
      return spawnSync("kamailio", ["-c", "-f", file], { stdio: "ignore" }).status === 0
    })
  )
)

const absent =
  "kamailio with TLS is not installed: its tests were not run (on Debian: apt-get install kamailio kamailio-tls-modules)"

const kamailio = (target: number) =>
  Effect.gen(function* () {
    const path = yield* folder
    filesFor(path, proxy)
    const file = write(path, "kamailio.cfg", configOf(path, target))
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn("kamailio", ["-f", file, "-m", "32", "-M", "8", "-DD", "-E", "-Y", path], { stdio: "ignore" })
      ),
      (child) =>
        Effect.async<void>((resume) => {
          if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
          child.once("exit", () => resume(Effect.void))
          child.kill("SIGTERM")
        })
    )
  })

describe.skipIf(!isInstalled)(isInstalled ? "calls through kamailio over TLS" : absent, () => {
  it.scopedLive(
    "keep to the recorded route and its connections, carry encrypted audio, and are ended by either side",
    () =>
      Effect.gen(function* () {
        const tls = { transports: "tls", tlsBind: "127.0.0.1:0", srtp: "required" } as const
        const server = yield* telephonyOf(
          { ...tls, ...filesFor(yield* folder, "127.0.0.1"), rtpPorts: "34300-34349" },
          { isAllowed: (address) => address === proxy || address === "127.0.0.1" }
        )
        yield* kamailio(server.tlsPort)
        // The proxy opens connections of its own, so that both sides need a certificate.
        const files = filesFor(yield* folder, "127.0.0.1")
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
