import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { ReplayWindow } from "../../src/rtp/ReplayWindow.ts"
import { RtpPacket, writeRtpHeader } from "../../src/rtp/RtpPacket.ts"
import { deriveKeys, keyStream, type SrtpKeys, type SrtpSuite } from "../../src/rtp/SrtpKeys.ts"
import { SrtpReceiver } from "../../src/rtp/SrtpReceiver.ts"
import { SrtpSender } from "../../src/rtp/SrtpSender.ts"

const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replaceAll(" ", ""), "hex"))
const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

/** The master key and salt of RFC 3711, B.3. */
const keysOf = (suite: SrtpSuite): SrtpKeys => ({
  suite,
  masterKey: hex("e1f97a0d3e018be0d64fa32c06de4139"),
  masterSalt: hex("0ec675ad498afeebb6960b3aabe6")
})
const keys = keysOf("AES_CM_128_HMAC_SHA1_80")

const receive = (receiver: SrtpReceiver, bytes: Uint8Array) => {
  const copy = bytes.slice()
  const header = new RtpPacket()
  if (!header.readHeader(copy, copy.length)) return undefined
  const length = receiver.unprotect(copy, header)
  return length < 0 ? undefined : copy.slice(0, length)
}

const packetOf = (sequence: number, ssrc = 0xcafe_babe, payload = new Uint8Array(160).fill(sequence)) => {
  const bytes = new Uint8Array(12 + payload.length + 16)
  writeRtpHeader(bytes, 0, false, sequence & 0xffff, sequence * 160, ssrc)
  bytes.set(payload, 12)
  return { bytes, length: 12 + payload.length }
}

const protect = (sender: SrtpSender, sequence: number, ssrc?: number) => {
  const { bytes, length } = packetOf(sequence, ssrc)
  return bytes.slice(0, sender.protect(bytes, length))
}

describe("SRTP", () => {
  it("has the key stream of RFC 3711, B.2", () => {
    const stream = keyStream(hex("2b7e151628aed2a6abf7158809cf4f3c"), hex("f0f1f2f3f4f5f6f7f8f9fafbfcfd0000"), 48)
    expect(toHex(stream)).toBe(
      "e03ead0935c95e80e166b16dd92b4eb4d23513162b02d0f72a43a2fe4a5f97ab41e95b3bb0a2e8dd477901e4fca894c0"
    )
    const later = keyStream(hex("2b7e151628aed2a6abf7158809cf4f3c"), hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"), 48)
    expect(toHex(later)).toBe(
      "ec8cdf7398607cb0f2d21675ea9ea1e4362b7c3c6773516318a077d7fc5073ae6a2cc3787889374fbeb4c81b17ba6c44"
    )
  })

  it("derives the keys of RFC 3711, B.3", () => {
    const { authKey, cipherKey, salt } = deriveKeys(keys, "rtp")
    expect(toHex(cipherKey)).toBe("c61e7a93744f39ee10734afe3ff7a087")
    expect(toHex(salt)).toBe("30cbbc08863d8c85d49db34a9ae1")
    expect(toHex(authKey)).toBe("cebe321f6ff7716b6fd4ab49af256a156d38baa4")
  })

  it("encrypts a packet to the known bytes", () => {
    const bytes = new Uint8Array(48)
    bytes.set(hex("800f1234 decafbad cafebabe abababababababababababababababab"))
    const length = new SrtpSender(keys).protect(bytes, 28)
    expect(toHex(bytes.subarray(0, length))).toBe(
      "800f1234decafbadcafebabe4e55dc4ce79978d88ca4d215949d2402b78d6acc99ea179b8dbb"
    )
  })

  it("decrypts an RTCP packet from the known bytes", () => {
    const bytes = hex("81c8000b cafebabe 7128035be487b9bdbef89041f977a5a8 80000001 993e08cd54d6c1230798")
    const compound = new SrtpReceiver(keys).unprotectRtcp(bytes)
    expect(toHex(compound ?? hex(""))).toBe("81c8000bcafebabeabababababababababababababababab")
  })

  it.each(["AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32"] as const)(
    "with %s gives back what was sent, over the wrap of the sequence number",
    (suite) => {
      const sender = new SrtpSender(keysOf(suite))
      const receiver = new SrtpReceiver(keysOf(suite))
      for (let number = 32_000; number < 3 * 65_536; number += 997) {
        const { bytes, length } = packetOf(number)
        expect(receive(receiver, protect(sender, number))).toEqual(bytes.slice(0, length))
      }
    }
  )

  it("refuses a packet that was changed anywhere", () => {
    const packet = protect(new SrtpSender(keys), 7)
    fc.assert(
      fc.property(fc.integer({ min: 1, max: packet.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, by) => {
        const changed = packet.slice()
        changed[at] = (changed[at] ?? 0) ^ by
        expect(receive(new SrtpReceiver(keys), changed)).toBeUndefined()
      })
    )
    expect(receive(new SrtpReceiver(keys), packet)).toBeDefined()
  })

  it("refuses a packet without its tag, and with other keys", () => {
    const { bytes, length } = packetOf(7)
    expect(receive(new SrtpReceiver(keys), bytes.slice(0, length))).toBeUndefined()
    expect(receive(new SrtpReceiver(keys), bytes.slice(0, 12))).toBeUndefined()
    const other = { ...keys, masterSalt: new Uint8Array(14) }
    expect(receive(new SrtpReceiver(other), protect(new SrtpSender(keys), 7))).toBeUndefined()
  })

  it("takes each packet once, also out of order and after the sender has changed its stream", () => {
    const sender = new SrtpSender(keys)
    const receiver = new SrtpReceiver(keys)
    const packets = [65_534, 65_535, 65_536, 65_537].map((number) => protect(sender, number))
    const [a, b, c, d] = packets
    const taken = [a, c, b, b, d, a, c].map((packet) => receive(receiver, packet ?? hex("")) !== undefined)
    expect(taken).toEqual([true, true, true, false, true, false, false])
    expect(receive(receiver, protect(sender, 1, 5))).toBeDefined()
    expect(receive(receiver, d ?? hex(""))).toBeUndefined()
  })

  it("is not led to another place of the stream by packets that are not authentic", () => {
    const sender = new SrtpSender(keys)
    const receiver = new SrtpReceiver(keys)
    expect(receive(receiver, protect(sender, 100))).toBeDefined()
    for (let number = 0; number < 200; number++) receive(receiver, packetOf(number * 331).bytes)
    expect(receive(receiver, protect(sender, 101))).toBeDefined()
  })

  it("gives back RTCP, each packet once, and refuses what was changed", () => {
    const sender = new SrtpSender(keys)
    const receiver = new SrtpReceiver(keys)
    const compound = hex("80c90001 cafebabe 81ca0003 cafebabe 0103616263000000")
    for (let count = 0; count < 3; count++) {
      const packet = sender.protectRtcp(compound)
      expect(toHex(packet)).not.toContain("616263")
      const changed = packet.slice()
      changed[9] = (changed[9] ?? 0) ^ 1
      expect(receiver.unprotectRtcp(changed)).toBeUndefined()
      expect(receiver.unprotectRtcp(packet)).toEqual(compound)
      expect(receiver.unprotectRtcp(packet)).toBeUndefined()
    }
    expect(receiver.unprotectRtcp(compound)).toBeUndefined()
    expect(receiver.unprotectRtcp(hex("80c9"))).toBeUndefined()
  })
})

describe("the window against replayed packets", () => {
  it("takes each index once, and none that is 64 or more behind", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 200 }), { maxLength: 300 }), (indices) => {
        const window = new ReplayWindow()
        const taken = new Set<number>()
        for (const index of indices) {
          const newest = Math.max(-1, ...taken)
          const isFresh = !taken.has(index) && index > newest - 64
          expect(window.isFresh(index)).toBe(isFresh)
          if (!isFresh) continue
          window.take(index)
          taken.add(index)
        }
      })
    )
  })

  it("goes on with a new key where the count of wraps goes on, and where it begins at 0", () => {
    const wrapped = new SrtpSender(keys)
    const before = new SrtpReceiver(keys)
    expect(receive(before, protect(wrapped, 65_535))).toBeDefined()
    expect(receive(before, protect(wrapped, 0))).toBeDefined()
    const fresh: SrtpKeys = { ...keys, masterKey: hex("00112233445566778899aabbccddeeff") }
    // A sender whose count goes on: it has wrapped once under the new key, as far as the receiver can tell.
    const continuing = new SrtpSender(fresh)
    protect(continuing, 65_535)
    const kept = new SrtpReceiver(fresh, before)
    expect(receive(kept, protect(continuing, 1))).toBeDefined()
    expect(receive(kept, protect(continuing, 2))).toBeDefined()
    const restarting = new SrtpSender(fresh)
    const reset = new SrtpReceiver(fresh, before)
    const first = protect(restarting, 1)
    expect(receive(reset, first)).toBeDefined()
    expect(receive(reset, first)).toBeUndefined()
    expect(receive(reset, protect(restarting, 2))).toBeDefined()
    // Under the former key nothing is taken any more.
    expect(receive(reset, protect(wrapped, 3))).toBeUndefined()
  })
})
