import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type Framed, Framer } from "../../src/message/Framer.ts"
import * as Parser from "../../src/message/Parser.ts"

const bytes = (name: string): Uint8Array => readFileSync(fileURLToPath(new URL(`rfc4475/${name}.dat`, import.meta.url)))

/** What the chunks of a stream give. */
const frames = (chunks: ReadonlyArray<Uint8Array>): ReadonlyArray<Framed> => {
  const framer = new Framer()
  return chunks.flatMap((chunk) => framer.push(chunk))
}

const text = (value: string): Uint8Array => Buffer.from(value)

describe("Framer", () => {
  it("cuts the same messages from a stream, whatever its chunks are", () => {
    const stream = Buffer.concat([bytes("wsinv"), text("\r\n\r\n"), bytes("lwsdisp"), bytes("mpart01")])
    const whole = frames([stream])
    expect(whole.map((each) => each._tag)).toEqual(["Message", "Ping", "Message", "Message"])
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: stream.length }), { maxLength: 40 }), (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), stream.length]
        const chunks = at.slice(1).map((end, index) => stream.subarray(at[index], end))
        expect(
          frames(chunks).map((each) => ("bytes" in each ? Buffer.from(each.bytes).toString("latin1") : ""))
        ).toEqual(whole.map((each) => ("bytes" in each ? Buffer.from(each.bytes).toString("latin1") : "")))
      }),
      { numRuns: 50 }
    )
  })

  it("gives a request whose Content-Length is missing, negative or too large as broken, to be answered and closed", () => {
    const head =
      "OPTIONS sip:a@example.com SIP/2.0\r\nVia: SIP/2.0/TCP 192.0.2.1;branch=z9hG4bK1\r\nFrom: <sip:b@example.com>;tag=1\r\nTo: <sip:a@example.com>\r\nCall-ID: 1\r\nCSeq: 1 OPTIONS\r\n"
    for (const [length, status] of [
      ["Content-Length: -1\r\n", 400],
      ["Content-Length: 99999999\r\n", 413],
      ["Content-Length: 5\r\nl: 6\r\n", 400]
    ] as const) {
      const [framed] = frames([text(`${head}${length}\r\nbody`)])
      if (framed?._tag !== "Broken") throw new Error("not broken")
      expect(Parser.parse(framed.bytes, true)).toMatchObject({ _tag: "Refused", status })
    }
    expect(frames([text(`${head}\r\nbody`)])).toMatchObject([{ _tag: "Broken" }])
  })

  it("gives what begins with no line of SIP as broken, and malformed lines of SIP as messages", () => {
    const end = "Via: SIP/2.0/TCP 192.0.2.1;branch=z9hG4bK1\r\nContent-Length: 0\r\n\r\n"
    for (const line of ["GET / HTTP/1.1", "garbage", "INVITE sip:a@example.com", "200 OK"]) {
      expect(frames([text(`${line}\r\n${end}`)])).toMatchObject([{ _tag: "Broken" }])
    }
    for (const line of [
      "INVITE sip:a@example.com; lr SIP/2.0",
      "INVITE  sip:a@b  sip/2.0 ",
      "A b SIP/7.0",
      "SIP/2.0 1"
    ]) {
      expect(frames([text(`${line}\r\n${end}`)])).toMatchObject([{ _tag: "Message" }])
    }
  })

  it("keeps no more than the head's limit while no empty line comes", () => {
    const line = text(`X: ${"y".repeat(1020)}\r\n`)
    const framer = new Framer()
    let broken = 0
    for (let count = 0; count < 100 && broken === 0; count++) {
      broken = framer.push(line).length
      expect(framer.waiting).toBeLessThanOrEqual(32_768)
    }
    expect(broken).toBe(1)
  })

  it("reads the largest message when its bytes come one by one, and then keeps nothing", () => {
    const start = `OPTIONS sip:a@example.com SIP/2.0\r\nX: ${"y".repeat(8000)}\r\nContent-Length: 57000\r\n\r\n`
    const message = Buffer.concat([text(start), Buffer.alloc(57_000, "\r\n")])
    const framer = new Framer()
    const stream = Buffer.concat([message, text("\r\n\r\n"), bytes("lwsdisp")])
    const framed = Array.from(stream, (byte) => framer.push(Uint8Array.of(byte))).flat()
    expect(framed.map((each) => each._tag)).toEqual(["Message", "Ping", "Message"])
    expect(framed[0]).toEqual({ _tag: "Message", bytes: new Uint8Array(message) })
    expect(framer.waiting).toBe(0)
  })

  it("gives copies: later bytes of the stream do not change a message", () => {
    const framer = new Framer()
    const [message, other] = [bytes("lwsdisp"), bytes("wsinv")]
    const first = framer.push(Buffer.concat([message, other.subarray(0, 100)]))
    const chunk = Buffer.from(other.subarray(100))
    const second = framer.push(chunk)
    chunk.fill(0)
    framer.push(message)
    expect([...first, ...second]).toEqual([
      { _tag: "Message", bytes: new Uint8Array(message) },
      { _tag: "Message", bytes: new Uint8Array(other) }
    ])
  })

  it("answers pings whose bytes come one by one, and no single line break", () => {
    expect(frames([text("\r"), text("\n"), text("\r"), text("\n")])).toEqual([{ _tag: "Ping" }])
    const framer = new Framer()
    framer.push(text("\r\n"))
    expect(framer.isInMessage).toBe(false)
    framer.push(text("OPT"))
    expect(framer.isInMessage).toBe(true)
    expect(frames([text("\r\n"), bytes("lwsdisp")]).map((each) => each._tag)).toEqual(["Message"])
  })
})
