import * as fc from "fast-check"

/** One change of a message: bytes from `at` (0 to 1 of its length) on are replaced, `drop` of them. */
interface Change {
  readonly at: number
  readonly drop: number
  readonly put: Uint8Array
}

/** Texts that have a meaning somewhere in SIP or SDP. */
const fragments: ReadonlyArray<string> = [
  "\r\n",
  "\r\n ",
  "\r\n\r\n",
  "\r",
  "\n",
  "\0",
  '"',
  "\\",
  "<",
  ">",
  ";",
  ",",
  "@",
  ":",
  "%",
  "%00",
  "=",
  "?",
  "*",
  "[",
  "]",
  "-1",
  "4294967296",
  "99999999999999999999",
  "SIP/2.0",
  "z9hG4bK",
  "\r\nContent-Length: 5",
  "\r\nVia: SIP/2.0/UDP [::1",
  "m=audio 0 RTP/AVP 0\r\n",
  "a=rtpmap:",
  "é",
  "\xff\xfe"
]

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  drop: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 30 })),
  put: fc.oneof(
    fc.constantFrom(...fragments).map((text) => new Uint8Array(Buffer.from(text, "latin1"))),
    fc.uint8Array({ maxLength: 8 })
  )
})

/** One of the seeds with up to eight changes. */
export const mutated = (seeds: ReadonlyArray<Uint8Array>): fc.Arbitrary<Uint8Array> =>
  fc.tuple(fc.constantFrom(...seeds), fc.array(change, { maxLength: 8 })).map(([seed, changes]) => {
    let bytes: Uint8Array = seed
    for (const { at, drop, put } of changes) {
      const start = Math.floor(at * bytes.length)
      bytes = Buffer.concat([bytes.subarray(0, start), put, bytes.subarray(start + drop)])
    }
    return bytes
  })
