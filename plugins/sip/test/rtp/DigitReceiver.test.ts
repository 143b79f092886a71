import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { DigitReceiver } from "../../src/rtp/DigitReceiver.ts"
import { eventDigits, writeEvent } from "../../src/rtp/TelephoneEvent.ts"

interface EventPacket {
  readonly event: number
  /** In units of the timestamp. */
  readonly timestamp: number
  readonly duration: number
  readonly isEnd: boolean
  readonly isMarked: boolean
}

const digitsOf = (packets: ReadonlyArray<EventPacket>): string => {
  let digits = ""
  const receiver = new DigitReceiver((digit) => {
    digits += digit
  })
  const bytes = new Uint8Array(4)
  for (const { duration, event, isEnd, isMarked, timestamp } of packets) {
    writeEvent(bytes, 0, event, isEnd, duration)
    receiver.push(bytes, 0, 4, timestamp, isMarked)
  }
  return digits
}

/** The packets of a key that is held: one each 20 ms, and the end three times. */
const press = (event: number, timestamp: number, heldMs = 100): ReadonlyArray<EventPacket> => {
  const packets: Array<EventPacket> = []
  const duration = heldMs * 8
  for (let at = 160; at < duration; at += 160) {
    packets.push({ event, timestamp: timestamp >>> 0, duration: at, isEnd: false, isMarked: at === 160 })
  }
  const end = { event, timestamp: timestamp >>> 0, duration, isEnd: true, isMarked: false }
  return [...packets, end, end, end]
}

/** The packets of keys that are pressed 200 ms apart. */
const presses = (digits: string, from = 0) =>
  [...digits].flatMap((digit, index) => press(eventDigits.indexOf(digit), from + index * 1600))

const anyDigits = fc.array(fc.constantFrom(...eventDigits), { minLength: 1, maxLength: 12 }).map((all) => all.join(""))

describe("digits in telephone events", () => {
  it("come once each, the events 0 to 15", () => {
    expect(digitsOf(presses("0123456789*#ABCD"))).toBe("0123456789*#ABCD")
    expect(digitsOf(presses("1111"))).toBe("1111")
  })

  it("come over the wrap of the timestamp", () => {
    expect(digitsOf(presses("5577", 0xffff_ffff - 2000))).toBe("5577")
  })

  it("come when the key is pressed, not when it is released", () => {
    expect(digitsOf(presses("7").slice(0, 1))).toBe("7")
  })

  it("come if at least one packet of each does", () => {
    fc.assert(
      fc.property(
        anyDigits,
        fc.infiniteStream(fc.boolean()),
        fc.integer({ min: 0, max: 0xffff_ffff }),
        (digits, coins, from) => {
          const arrived = [...digits].flatMap((digit, index) => {
            const packets = press(eventDigits.indexOf(digit), from + index * 1600)
            const kept = packets.filter(() => coins.next().value === true)
            return kept.length === 0 ? packets.slice(-1) : kept
          })
          expect(digitsOf(arrived)).toBe(digits)
        }
      )
    )
  })

  it("come once if packets come twice, or out of order within 60 ms", () => {
    fc.assert(
      fc.property(anyDigits, fc.infiniteStream(fc.integer({ min: 0, max: 3 })), (digits, jitter) => {
        const arrived = presses(digits)
          .flatMap((packet, index) => [packet, packet].map((each) => ({ each, at: index + jitter.next().value })))
          .sort((one, other) => one.at - other.at)
          .map(({ each }) => each)
        // The end of a digit may come after the beginning of the next one, which then comes first.
        expect(digitsOf(arrived)).toBe(digits)
      })
    )
  })

  it("come once for a key that is held for longer than an event can last", () => {
    const second = 0xffff
    const segments = [
      ...press(5, 0, 8180).slice(0, -3),
      { event: 5, timestamp: 0, duration: second, isEnd: false, isMarked: false },
      { event: 5, timestamp: second, duration: 160, isEnd: false, isMarked: false },
      { event: 5, timestamp: second, duration: 4000, isEnd: true, isMarked: false }
    ]
    expect(digitsOf(segments)).toBe("5")
    // Of the first segment only its beginning came.
    expect(digitsOf([...segments.slice(0, 3), ...segments.slice(-2)])).toBe("5")
  })

  it("come once from a sender that counts the timestamp up in an event", () => {
    const packets = press(3, 0).map((packet, index) => ({ ...packet, timestamp: index * 160 }))
    expect(digitsOf(packets.slice(0, -2))).toBe("3")
  })

  it("come twice if the end of the first press was lost, and the marker of the second", () => {
    const second = press(8, 1600).slice(1)
    expect(digitsOf([...press(8, 0).slice(0, 3), ...second])).toBe("88")
  })

  it("do not come of the hook flash, of other events, or of one without a duration", () => {
    expect(digitsOf([...press(16, 0), ...press(32, 2000), ...press(255, 4000)])).toBe("")
    expect(digitsOf([{ event: 1, timestamp: 0, duration: 0, isEnd: false, isMarked: true }])).toBe("")
    expect(digitsOf([{ event: 1, timestamp: 0, duration: 0, isEnd: false, isMarked: true }, ...press(1, 0)])).toBe("1")
  })

  it("come in order from a packet with several events", () => {
    let digits = ""
    const receiver = new DigitReceiver((digit) => {
      digits += digit
    })
    const bytes = new Uint8Array(8)
    writeEvent(bytes, 0, 1, true, 800)
    writeEvent(bytes, 4, 2, true, 800)
    receiver.push(bytes, 0, 8, 1000, true)
    receiver.push(bytes, 0, 8, 1000, false)
    expect(digits).toBe("12")
  })

  it("come after the sender has begun another stream", () => {
    let digits = ""
    const receiver = new DigitReceiver((digit) => {
      digits += digit
    })
    const bytes = new Uint8Array(4)
    writeEvent(bytes, 0, 9, true, 800)
    receiver.push(bytes, 0, 4, 100_000, true)
    receiver.restart()
    receiver.push(bytes, 0, 4, 50_000, true)
    expect(digits).toBe("99")
  })

  it("are none in a payload of another length, and no bytes make it fail", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 13 })), (payloads) => {
        const receiver = new DigitReceiver((digit) => expect(eventDigits).toContain(digit))
        for (const [index, bytes] of payloads.entries()) receiver.push(bytes, 0, bytes.length, index * 160, false)
      })
    )
  })
})
