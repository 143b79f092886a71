import { describe, expect, it } from "@effect/vitest"
import { legFormats } from "@svc/providers/Audio"
import { freePort } from "@svc/providers/testing/FreePorts"
import { Effect, Fiber, Redacted } from "effect"
import { until } from "./BaresipPhone.ts"
import * as Kamailio from "./Kamailio.ts"
import { answerNext, PeerCall, telephonyOf } from "./PeerCall.ts"
import * as Sipp from "./SippScenario.ts"

const { maybe, received, request, respond, respondInDialog, response, sdp, sipp } = Sipp

const isInstalled = Sipp.isInstalled && Kamailio.isInstalled
const absent =
  "kamailio or sipp is not installed: their tests were not run (on Debian: apt-get install kamailio sip-tester)"

/** The trunk has an address of its own, the only one whose messages the plugin reads. */
const trunk = "127.0.0.4"

/** A proxy with Record-Route between the plugin, whose calls need a digest, and a phone. */
const config = (port: number, plugin: number, phone: number, algorithm: string): string =>
  Kamailio.proxy({
    listen: `udp:${trunk}:${port}`,
    globals: ["disable_tcp=yes"],
    modules: ['loadmodule "auth.so"', `modparam("auth", "algorithm", "${algorithm}")`],
    before: [
      `  if ($sp == ${plugin} && !pv_proxy_authenticate("trunk", "secret", "0")) {`,
      '    auth_challenge("trunk", "1");',
      "    exit;",
      "  }",
      "  consume_credentials();"
    ],
    destination: `if ($sp == ${plugin}) { $du = "sip:127.0.0.1:${phone}"; } else { $du = "sip:127.0.0.1:${plugin}"; }`
  })

/** The plugin with kamailio as its trunk, behind which a phone is to be. */
const connected = (algorithm: string) =>
  Effect.gen(function* () {
    const [port, phone] = [yield* freePort, yield* freePort]
    const { port: plugin, telephony } = yield* telephonyOf({
      rtpPorts: "38200-38499",
      trunkUri: `sip:${trunk}:${port}`,
      allow: `${trunk}/32`,
      trunkUsername: "user",
      trunkPassword: Redacted.make("secret")
    })
    yield* Kamailio.run(yield* Kamailio.folder, config(port, plugin, phone, algorithm))
    const { outbound } = telephony
    if (outbound === undefined) return yield* Effect.dieMessage("there is no way to place calls")
    const call = { callId: "one", to: "+4930", from: "+4989", formats: legFormats }
    const dial = Effect.zipRight(
      Sipp.isListening(phone, "udp"),
      Effect.map(outbound.dial(call), (leg) => new PeerCall(leg))
    )
    return { telephony, dial, target: `${trunk}:${port}`, phone }
  })

/** REFER and its outcome, until our BYE. */
const transferred = (cseq: number, isCalled: boolean) => [
  received("REFER"),
  respondInDialog("202 Accepted"),
  Sipp.notify(cseq, "180 Ringing", "active;expires=60", { isRouted: true, isCalled }),
  response(200),
  Sipp.notify(cseq + 1, "200 OK", "terminated;reason=noresource", { isRouted: true, isCalled }),
  response(200),
  received("BYE"),
  respondInDialog("200 OK")
]

describe.skipIf(!isInstalled)(isInstalled ? "calls with kamailio as the trunk" : absent, () => {
  for (const algorithm of ["MD5", "SHA-256"])
    it.scopedLive(
      `come and go by the recorded route, with a digest (${algorithm}), and are transferred with REFER`,
      () =>
        Effect.gen(function* () {
          const { dial, phone, target, telephony } = yield* connected(algorithm)
          const moved = (call: PeerCall) => {
            const progress: Array<string> = []
            call.onTransfer = ({ state }) => progress.push(state)
            call.leg.transferBlind?.("+4940")
            return progress
          }

          const coming = yield* Effect.fork(
            sipp({
              port: target,
              steps: [
                request("INVITE", 1, { body: sdp() }),
                maybe(100),
                maybe(180),
                response(200, ' rrs="true"'),
                request("ACK", 1, { isRouted: true }),
                ...transferred(2, false)
              ]
            })
          )
          const incoming = yield* answerNext(telephony)
          const first = moved(incoming)
          yield* Fiber.join(coming)
          yield* until("the end", () => incoming.ending !== undefined)
          expect(first).toEqual(["ringing", "completed"])

          const header = (name: string, variable: string) =>
            `<ereg regexp=".*" search_in="hdr" header="${name}:" assign_to="${variable}"/>`
          const going = yield* Effect.fork(
            sipp({
              port: target,
              steps: [
                received("INVITE", ' rrs="true"', header("From", "caller") + header("To", "called")),
                respond("180 Ringing"),
                respond("200 OK", [], sdp(), ' retrans="500"'),
                received("ACK"),
                ...transferred(1, true)
              ],
              arguments: ["-p", String(phone)]
            })
          )
          const outgoing = yield* dial
          const second = moved(outgoing)
          yield* Fiber.join(going)
          yield* until("the end", () => outgoing.ending !== undefined)
          expect(second).toEqual(["ringing", "completed"])
        }),
      60_000
    )
})
