import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import { telephonyOf } from "./PeerCall.ts"
import * as Sipp from "./SippScenario.ts"

const { maybe, request, response, sdp, sipp } = Sipp

/** An INVITE with a password for the challenge before it. */
const invite = (cseq: number, password: string) =>
  request("INVITE", cseq, {
    body: sdp(),
    headers: [`[authentication username=anna password=${password}]`],
    isAgain: true
  })

describe.skipIf(!Sipp.isInstalled)(Sipp.isInstalled ? "a phone with a password, played by sipp" : Sipp.absent, () => {
  // The sipp of Debian answers challenges with MD5 only.
  for (const [transport, name] of [
    ["u1", "UDP"],
    ["t1", "TCP"]
  ] as const) {
    it.scopedLive(`is challenged with MD5, and calls with the right password only, over ${name}`, () =>
      Effect.gen(function* () {
        // The calls of sipp come from this machine, which is not allowed by its address.
        const { port, telephony } = yield* telephonyOf({
          rtpPorts: "38200-38499",
          users: Redacted.make("anna:right"),
          allow: "192.0.2.1"
        })
        const called: Array<string> = []
        yield* Effect.forkScoped(
          Stream.runForEach(telephony.incoming, (call) =>
            Effect.sync(() => {
              called.push(call.to)
              call.reject("busy")
            })
          )
        )
        const challenge = Sipp.headerMatches("WWW-Authenticate", "algorithm=MD5")
        yield* sipp({
          port,
          steps: [
            request("INVITE", 1, { body: sdp() }),
            response(401, ' auth="true"', challenge),
            request("ACK", 1, { of: 0 }),
            invite(2, "wrong"),
            response(401, ' auth="true"', challenge),
            request("ACK", 2, { of: 3 }),
            invite(3, "right"),
            maybe(100),
            response(486),
            request("ACK", 3, { of: 6 })
          ],
          arguments: ["-t", transport]
        })
        expect(called).toEqual([Sipp.number])
      })
    )
  }
})
