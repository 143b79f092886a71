import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { legFormats } from "@svc/providers/Audio"
import { Effect } from "effect"
import { absent, isInstalled, start, until } from "./BaresipPhone.ts"
import { certificate } from "./Certificates.ts"
import { answerNext, PeerCall, telephonyOf } from "./PeerCall.ts"

const rtpPorts = "34200-34299"
const authority = certificate({ names: ["Test authority"] })

/** The files of a certificate for this machine, and of its authority. `both`: certificate and key in one. */
const files = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-tls-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  ),
  (folder) => {
    const own = certificate({ names: ["127.0.0.1"], issuer: authority })
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    return {
      tlsCert: file("cert.pem", own.certificate),
      tlsKey: file("key.pem", own.key),
      tlsCa: file("ca.pem", authority.certificate),
      both: file("both.pem", own.certificate + own.key)
    }
  }
)

const tls = { transports: "udp,tls", tlsBind: "127.0.0.1:0", rtpPorts }

describe.skipIf(!isInstalled)(isInstalled ? "a softphone over TLS" : absent, () => {
  for (const [name, srtp, mediaenc] of [
    ["RTP/SAVP", undefined, ";mediaenc=srtp-mand"],
    ["keys beside RTP/AVP", "required", ";mediaenc=srtp"],
    ["unencrypted audio", undefined, ""]
  ] as const) {
    it.scopedLive(`calls, hears and is heard, sends and gets digits, and learns that we hang up: ${name}`, () =>
      Effect.gen(function* () {
        const { tlsCa, tlsCert, tlsKey } = yield* files
        const { telephony, tlsPort } = yield* telephonyOf({
          ...tls,
          tlsCert,
          tlsKey,
          ...(srtp === undefined ? {} : { srtp })
        })
        const phone = yield* start({ account: `;transport=tls${mediaenc}`, config: `sip_cafile ${tlsCa}` })
        phone.command("dial", `sip:+12025550100@127.0.0.1:${tlsPort};transport=tls`)
        const call = yield* answerNext(telephony)
        yield* call.playTone
        yield* until("the tone comes back", () => call.sounding > 50)
        for (const digit of "19#") phone.command("sndcode", digit)
        yield* until("its digits", () => call.digits.length >= 3)
        call.leg.sendDtmf?.("4*2")
        yield* until("our digits", () => phone.digits().length >= 3)
        expect([call.digits, phone.digits()]).toEqual(["19#", "4*2"])
        expect(call.leg.quality?.()).toMatchObject({ packetsLost: 0 })
        call.leg.hangup("done")
        yield* until("it knows", () => phone.events.includes("CALL_CLOSED"))
      })
    )
  }

  it.scopedLive("is put on hold and taken up again with its keys", () =>
    Effect.gen(function* () {
      const { tlsCa, tlsCert, tlsKey } = yield* files
      const { telephony, tlsPort } = yield* telephonyOf({ ...tls, tlsCert, tlsKey })
      const phone = yield* start({
        account: ";transport=tls;mediaenc=srtp-mand",
        config: `sip_cafile ${tlsCa}`,
        source: "tone"
      })
      phone.command("dial", `sip:+12025550100@127.0.0.1:${tlsPort};transport=tls`)
      const call = yield* answerNext(telephony)
      yield* until("its tone", () => call.sounding > 25)
      phone.command("hold")
      yield* until("the hold", () => call.soundingAtHold.length === 1)
      phone.command("resume")
      yield* until("the end of the hold", () => call.soundingAtHold.length === 2)
      const [before = 0, after = 0] = call.soundingAtHold
      expect(after).toBe(before)
      yield* until("the tone again", () => call.sounding > after + 25)
    })
  )

  it.scopedLive("is called as a trunk whose certificate is verified, and has encrypted audio", () =>
    Effect.gen(function* () {
      const { both, tlsCa } = yield* files
      const phone = yield* start({
        account: ";answermode=auto;mediaenc=srtp-mand",
        config: `sip_certificate ${both}`
      })
      const trunkUri = `sip:127.0.0.1:${phone.port + 1};transport=tls`
      const { telephony } = yield* telephonyOf({ ...tls, tlsCa, trunkUri, srtp: "required" })
      const { outbound } = telephony
      if (outbound === undefined) return expect.fail("there is no way to place calls")
      const leg = yield* outbound.dial({ callId: "one", to: "phone", from: "+12025550100", formats: legFormats })
      const call = new PeerCall(leg)
      yield* call.playTone
      yield* until("the tone comes back", () => call.sounding > 50)
      expect(leg.quality?.()).toMatchObject({ packetsLost: 0 })
      leg.hangup("done")
      yield* until("it knows", () => phone.events.includes("CALL_CLOSED"))
    })
  )

  it.scopedLive("is refused where encrypted audio is required and it has none", () =>
    Effect.gen(function* () {
      const { tlsCa, tlsCert, tlsKey } = yield* files
      const { tlsPort } = yield* telephonyOf({ ...tls, tlsCert, tlsKey, srtp: "required" })
      const phone = yield* start({ account: ";transport=tls", config: `sip_cafile ${tlsCa}` })
      phone.command("dial", `sip:+12025550100@127.0.0.1:${tlsPort};transport=tls`)
      yield* until("the refusal", () => phone.events.includes("CALL_CLOSED"))
      expect(phone.events).not.toContain("CALL_ESTABLISHED")
    })
  )
})
