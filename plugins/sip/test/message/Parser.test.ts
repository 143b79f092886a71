import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Message from "../../src/message/Message.ts"
import * as Parser from "../../src/message/Parser.ts"
import { serialize } from "../../src/message/Serializer.ts"
import { mutated } from "./Mutation.ts"

const options = (lines: ReadonlyArray<string>, start = "OPTIONS sip:a@example.com SIP/2.0"): Uint8Array =>
  Buffer.from(
    [
      start,
      "Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1",
      "From: <sip:b@example.com>;tag=1",
      "To: <sip:a@example.com>",
      "Call-ID: 1",
      "CSeq: 1 OPTIONS",
      ...lines,
      "",
      ""
    ].join("\r\n")
  )

describe("Parser", () => {
  it("refuses what is too long with 414, 400, 513 and 413", () => {
    const long = options([], `OPTIONS sip:${"a".repeat(2100)}@example.com SIP/2.0`)
    expect(Parser.parse(long)).toMatchObject({ _tag: "Refused", status: 414 })
    expect(Parser.parse(options([`X: ${"y".repeat(9000)}`]))).toMatchObject({ _tag: "Refused", status: 400 })
    expect(Parser.parse(options(Array.from({ length: 300 }, () => "X: y")))).toMatchObject({ status: 400 })
    const headers = Array.from({ length: 40 }, (_, index) => `X-${index}: ${"y".repeat(1000)}`)
    expect(Parser.parse(options(headers))).toMatchObject({ _tag: "Refused", status: 513 })
    expect(Parser.parse(options(["Content-Length: 70000"]))).toMatchObject({ _tag: "Refused", status: 413 })
  })

  it("ignores an ACK, a response and text without headers that are malformed", () => {
    for (const text of [
      "ACK sip:a@example.com SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1\r\n\r\n",
      "SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP 192.0.2.1\r\n\r\n",
      "SIP/3.0 200 OK\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
      "OPTIONS sip:a@example.com SIP/2.0\r\n\r\n",
      "\r\n\r\n",
      ""
    ]) {
      expect([text, Parser.parse(Buffer.from(text))._tag]).toEqual([text, "Ignored"])
    }
  })

  it("takes no line feed or carriage return within a header", () => {
    expect(Parser.parse(options(["X: a\nInjected: b"]))).toMatchObject({ _tag: "Refused", status: 400 })
    expect(Parser.parse(options(["X: a\rInjected: b"]))).toMatchObject({ _tag: "Refused", status: 400 })
  })

  it("reads runs of blanks, quotes and brackets as long as a header can be in linear time", () => {
    for (const run of [" ", "\t", '"', "<", ">", ";", ",", "=", "a=b;", "<a>,", '\\"', ": ", "%41", "1"]) {
      const value = run.repeat(Math.floor(8000 / run.length))
      for (const name of ["Contact", "Via", "X", "Content-Type", "Route"]) {
        const parsed = Parser.parse(options([`${name}: ${value}`, `${name}: tel:${value}x`, `${name}: sip:${value}x`]))
        expect(["Message", "Refused"]).toContain(parsed._tag)
      }
    }
  })

  it("answers or ignores mutated messages of RFC 4475, and writes no header that was not read", () => {
    const folder = fileURLToPath(new URL("rfc4475/", import.meta.url))
    const seeds = readdirSync(folder).flatMap((file) => (file.endsWith(".dat") ? [readFileSync(folder + file)] : []))
    fc.assert(
      fc.property(mutated(seeds), (bytes) => {
        const parsed = Parser.parse(bytes)
        if (parsed._tag !== "Message") return
        const again = Parser.parse(serialize(parsed.message))
        if (again._tag !== "Message") throw new Error(again.reason)
        const names = (message: Message.Message) =>
          message.headers.flatMap(({ name }) => (name === "content-length" ? [] : [name]))
        expect(names(again.message)).toEqual(names(parsed.message))
        expect(Message.callId(again.message)).toBe(Message.callId(parsed.message))
      }),
      { numRuns: 500 }
    )
  })
})

describe("serialize", () => {
  it("writes no line break of a value, and the length of the body", () => {
    const response: Message.Response = {
      _tag: "Response",
      status: 200,
      reason: "OK\r\nX: 1",
      headers: [{ name: "subject", value: "a\r\nEvil: 1" }],
      body: Buffer.from("x\r\n")
    }
    expect(Buffer.from(serialize(response)).toString()).toBe(
      "SIP/2.0 200 OK X: 1\r\nSubject: a Evil: 1\r\nContent-Length: 3\r\n\r\nx\r\n"
    )
  })
})
