import { describe, expect, it } from "@effect/vitest"
import { type PeerSigns, usualPeerTimeouts, verdict } from "../src/PeerWatch.ts"

const signs: PeerSigns = { mediaAt: undefined, mediaExpectedSince: 0, aliveAt: 0, askedAt: undefined }

const at = (now: number, given: Partial<PeerSigns>) => verdict({ ...signs, ...given }, usualPeerTimeouts, now)

describe("A peer", () => {
  it("is asked after 20 s without a packet, and is gone when it does not answer in 10 s", () => {
    expect(at(5000, { mediaAt: 4000 })).toEqual({ _tag: "Wait", until: 24_000 })
    expect(at(24_000, { mediaAt: 4000 })).toEqual({ _tag: "Probe" })
    expect(at(25_000, { mediaAt: 4000, askedAt: 24_000 })).toEqual({ _tag: "Wait", until: 34_000 })
    expect(at(34_000, { mediaAt: 4000, askedAt: 24_000 })).toMatchObject({ _tag: "Ended", code: "408" })
  })

  it("is there when it answers or sends, before the answer is due", () => {
    expect(at(30_000, { mediaAt: 4000, askedAt: 24_000, aliveAt: 25_000 })).toEqual({ _tag: "Wait", until: 45_000 })
    expect(at(34_000, { mediaAt: 26_000, askedAt: 24_000 })).toEqual({ _tag: "Wait", until: 46_000 })
  })

  it("ends the call 60 s after its last packet although it answers, and not while none is expected", () => {
    const given = { mediaAt: 4000, aliveAt: 60_000 }
    expect(at(63_999, given)).toEqual({ _tag: "Wait", until: 64_000 })
    expect(at(64_000, given)).toMatchObject({ _tag: "Ended", reason: expect.stringContaining("60 s") })
    expect(at(64_000, { ...given, mediaExpectedSince: undefined })).toEqual({ _tag: "Wait", until: 80_000 })
    expect(at(64_000, { ...given, mediaExpectedSince: 50_000 })).toEqual({ _tag: "Wait", until: 80_000 })
  })
})
