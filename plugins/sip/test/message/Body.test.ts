import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Body from "../../src/message/Body.ts"
import * as Message from "../../src/message/Message.ts"
import { refusalOf } from "../../src/message/RequestCheck.ts"

const sdp = "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\n"

const message = (body: string, headers: Readonly<Record<string, string>>, method = "INVITE"): Message.Request => ({
  _tag: "Request",
  method,
  uri: "sip:+4930@192.0.2.1",
  headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
  body: Buffer.from(body, "latin1")
})

const mixed = { "content-type": 'multipart/mixed; boundary="b=1"' }

/** A part with these header lines. */
const part = (body: string, ...lines: ReadonlyArray<string>): string =>
  `--b=1\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n${body}\r\n`

const isup = part("\x01\xff", "Content-Type: application/isup", "Content-Disposition: signal;handling=optional")
const description = part(sdp, "Content-Type: Application/SDP")

const read = (given: Message.Request) => {
  const plain = Body.plain(given)
  return [Message.contentType(plain), Buffer.from(plain.body).toString("latin1"), refusalOf(plain)?.status]
}

describe("A body", () => {
  it("of several parts is its session description, wherever that is (RFC 5621)", () => {
    const taken = ["application/sdp", sdp, undefined]
    expect(read(message(`${description}${isup}--b=1--\r\n`, mixed))).toEqual(taken)
    expect(read(message(`preamble\r\n${isup}${description}--b=1--`, mixed))).toEqual(taken)
    const nested = part(
      `--c\r\nContent-Type: application/sdp\r\n\r\n${sdp}\r\n--c--`,
      "Content-Type: multipart/alternative;boundary=c"
    )
    expect(read(message(`${isup}${nested}--b=1--\r\n`, mixed))).toEqual(taken)
    expect(read(message(`${part(sdp, "c: application/sdp")}--b=1--`, mixed))).toEqual(taken)
  })

  it("of several parts without a session description gets 415, or is ignored where that is allowed", () => {
    expect(read(message(`${isup}--b=1--`, mixed))[2]).toBe(415)
    expect(read(message(`${description}--b=1--`, { "content-type": "multipart/mixed" }))[2]).toBe(415)
    const coded = part(sdp, "Content-Type: application/sdp", "Content-Transfer-Encoding: base64")
    expect(read(message(`${coded}--b=1--`, mixed))[2]).toBe(415)
    const optional = { ...mixed, "content-disposition": "session;handling=optional" }
    expect(read(message(`${isup}--b=1--`, optional))).toEqual([undefined, "", undefined])
  })

  it("that is not understood is ignored with handling=optional, and gets 415 without", () => {
    const type = { "content-type": "application/foo" }
    expect(read(message("x", { ...type, "content-disposition": "render; Handling=Optional" }))).toEqual([
      undefined,
      "",
      undefined
    ])
    expect(read(message("x", type))).toEqual(["application/foo", "x", 415])
    expect(read(message("x", { ...type, "content-disposition": "render;handling=required" }))[2]).toBe(415)
  })

  it("that is understood stays, also with handling=optional", () => {
    const optional = { "content-disposition": "session;handling=optional" }
    const given = message(sdp, { "content-type": "application/sdp", ...optional })
    expect(Body.plain(given)).toBe(given)
    const digit = message("5", { "content-type": "application/dtmf", ...optional }, "INFO")
    expect(Body.plain(digit)).toBe(digit)
  })

  it("never throws, whatever its parts are", () => {
    const piece = fc.constantFrom("--b=1", "--", "\r\n", "Content-Type: ", "application/sdp", ";", "boundary=b=1", "x")
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        Body.plain(message(pieces.join(""), mixed))
      })
    )
  })
})
