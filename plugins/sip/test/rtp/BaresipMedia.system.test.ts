import { randomBytes } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import type { AudioType, MediaParameters, PacketTime } from "../../src/rtp/MediaParameters.ts"
import * as RtpMedia from "../../src/rtp/RtpMedia.ts"
import { keysOf, readCrypto, writeCrypto } from "../../src/rtp/SdesCrypto.ts"
import type { SrtpSuite } from "../../src/rtp/SrtpKeys.ts"
import { absent, call, isInstalled, until } from "../BaresipPhone.ts"

/** 1 kHz in mu-law, which the softphone plays back. */
const tone = Uint8Array.of(0x1e, 0x0b, 0x1e, 0x9e, 0x8b, 0x9e, 0x9e, 0x1e)
const frame = Uint8Array.from({ length: 160 }, (_, index) => tone[index % tone.length] ?? 0)

/** Whether a packet has sound: silence has bytes near 0xff and 0x7f. */
const hasSound = (payload: Uint8Array) => payload.some((byte) => (byte & 0x7f) < 0x40)

interface Options {
  readonly account?: string
  readonly config?: string
  readonly audio?: readonly [AudioType]
  readonly packetTimeMs?: PacketTime
  readonly suite?: SrtpSuite
  readonly isRtcpMuxed?: boolean
}

/** A call in which we play a tone and the softphone plays it back. */
const talk = ({
  account,
  audio = [{ payloadType: 0, law: "mulaw" }],
  config,
  isRtcpMuxed = false,
  packetTimeMs = 20,
  suite
}: Options) =>
  Effect.gen(function* () {
    const media = yield* RtpMedia.make({ address: "127.0.0.1", firstPort: 34_000, lastPort: 34_099 })
    const lengths = new Map<number, number>()
    const heard = { packets: 0, sounding: 0, digits: "", lengths }
    const { port, session } = yield* media.open("mulaw", {
      onAudio: (payload) => {
        heard.packets++
        if (payload.length > 0) lengths.set(payload.length, (lengths.get(payload.length) ?? 0) + 1)
        if (hasSound(payload)) heard.sounding++
      },
      onDigit: (digit) => {
        heard.digits += digit
      }
    })
    const phone = yield* call({ ...(account !== undefined && { account }), ...(config !== undefined && { config }) })
    const { address, lines, port: remotePort } = phone.offer
    const crypto = lines
      .filter((line) => line.startsWith("a=crypto:"))
      .map((line) => readCrypto(line.slice("a=crypto:".length)))
      .find((line) => line !== undefined && line.keys.suite === suite)
    expect(crypto?.keys.suite).toBe(suite)
    const own = suite === undefined ? undefined : keysOf(suite, randomBytes(30))
    const parameters: MediaParameters = {
      remote: { address, port: remotePort },
      hosts: ["127.0.0.1"],
      isRtcpMuxed,
      audio,
      telephoneEvent: 101,
      packetTimeMs,
      direction: "sendrecv",
      ...(own && crypto && { keys: { outgoing: own, incoming: crypto.keys } })
    }
    const [{ payloadType }] = audio
    phone.accept([
      `m=audio ${port} ${own === undefined ? "RTP/AVP" : "RTP/SAVP"} ${payloadType} 101`,
      `a=rtpmap:${payloadType} ${payloadType === 0 ? "PCMU" : "PCMA"}/8000`,
      "a=rtpmap:101 telephone-event/8000",
      "a=fmtp:101 0-15",
      `a=ptime:${packetTimeMs}`,
      ...(isRtcpMuxed ? ["a=rtcp-mux"] : []),
      ...(own && crypto ? [`a=crypto:${writeCrypto({ tag: crypto.tag, keys: own })}`] : [])
    ])
    session.negotiate(parameters)
    yield* Effect.forkScoped(
      Effect.repeat(
        Effect.sync(() => session.send(frame)),
        Schedule.fixed("20 millis")
      )
    )
    return { heard, phone, session }
  })

describe.skipIf(!isInstalled)(isInstalled ? "RTP with baresip" : absent, () => {
  for (const [name, options] of Object.entries<Options>({
    PCMU: {},
    "PCMA, converted": { audio: [{ payloadType: 8, law: "alaw" }] },
    "packets of 40 ms": { account: ";ptime=40", packetTimeMs: 40 },
    "RTCP on the same port": { config: "rtcp_mux yes", isRtcpMuxed: true },
    SRTP: { account: ";mediaenc=srtp-mand", suite: "AES_CM_128_HMAC_SHA1_80" }
  })) {
    it.scopedLive(
      `carries audio, digits and reports both ways: ${name}`,
      () =>
        Effect.gen(function* () {
          const { heard, phone, session } = yield* talk(options)
          yield* until("our tone comes back", () => heard.sounding > 50)
          session.sendDigits("159#")
          yield* until("the digits arrive", () => phone.digits().length >= 4)
          expect(phone.digits()).toBe("159#")
          for (const digit of "27*") phone.command("sndcode", digit)
          yield* until("its digits arrive", () => heard.digits.length >= 3)
          expect(heard.digits).toBe("27*")
          yield* until("it reports", () => session.remoteReport !== undefined)
          expect(session.remoteReport?.packetsLost).toBe(0)
          expect(session.quality.packetsLost).toBe(0)
          expect([...heard.lengths.keys()]).toEqual([(options.packetTimeMs ?? 20) * 8])
          // It begins with an APP packet without a report, which RFC 3550, 6.1 does not allow, with SRTP also unencrypted;
          // and its first RTP packets come from an address that it has not negotiated.
          const { foreign, malformed, unauthenticated, unknownType } = session.dropped
          expect(unknownType).toBe(0)
          expect(malformed + unauthenticated).toBeLessThanOrEqual(2)
          expect(foreign).toBeLessThanOrEqual(2)
        }),
      60_000
    )
  }
})
