import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as NameAddr from "../../src/message/NameAddr.ts"
import * as Uri from "../../src/message/Uri.ts"
import * as Via from "../../src/message/Via.ts"

const parsed = (text: string): Uri.Uri => {
  const uri = Uri.parse(text)
  if (uri === undefined) throw new Error(`${text} does not parse`)
  return uri
}

const isEqual = (one: string, other: string) => Uri.equal(parsed(one), parsed(other))

describe("Uri", () => {
  it("is equal by the rules and examples of RFC 3261, 19.1.4", () => {
    for (const [one, other] of [
      ["sip:%61lice@atlanta.com;transport=TCP", "sip:alice@AtLanTa.CoM;Transport=tcp"],
      ["sip:carol@chicago.com", "sip:carol@chicago.com;newparam=5"],
      ["sip:carol@chicago.com;security=on", "sip:carol@chicago.com;newparam=5"],
      [
        "sip:biloxi.com;transport=tcp;method=REGISTER?to=sip:bob%40biloxi.com",
        "sip:biloxi.com;method=REGISTER;transport=tcp?to=sip:bob%40biloxi.com"
      ],
      [
        "sip:alice@atlanta.com?subject=project%20x&priority=urgent",
        "sip:alice@atlanta.com?priority=urgent&subject=project%20x"
      ],
      ["tel:+1-201-555-0123", "tel:+12015550123"]
    ] as const) {
      expect([one, other, isEqual(one, other), isEqual(other, one)]).toEqual([one, other, true, true])
    }
    for (const [one, other] of [
      ["SIP:ALICE@AtLanTa.CoM;Transport=udp", "sip:alice@AtLanTa.CoM;Transport=UDP"],
      ["sip:bob@biloxi.com", "sip:bob@biloxi.com:5060"],
      ["sip:bob@biloxi.com", "sip:bob@biloxi.com;transport=udp"],
      ["sip:bob@biloxi.com", "sip:bob@biloxi.com:6000;transport=tcp"],
      ["sip:carol@chicago.com", "sip:carol@chicago.com?Subject=next%20meeting"],
      ["sip:bob@phone21.boxesbybob.com", "sip:bob@192.0.2.4"],
      ["sip:carol@chicago.com;security=on", "sip:carol@chicago.com;security=off"],
      ["sip:a@example.com", "sips:a@example.com"]
    ] as const) {
      expect([one, other, isEqual(one, other)]).toEqual([one, other, false])
    }
  })

  it("has IPv6 hosts in brackets, with and without a port", () => {
    expect(parsed("sip:+49301234@[2001:db8::10]:5070;transport=udp")).toMatchObject({
      host: "[2001:db8::10]",
      port: 5070
    })
    expect(parsed("sip:[2001:db8::10]")).toMatchObject({ host: "[2001:db8::10]", user: undefined, port: undefined })
    expect(Uri.text(parsed("sip:[::1]:5060"))).toBe("sip:[::1]:5060")
  })

  it("refuses ports out of range, bad escapes, two @, spaces, and hosts that are none", () => {
    for (const bad of [
      "sip:",
      "sip:a@",
      "sip:a@b@c",
      "sip:a@host:0",
      "sip:a@host:65536",
      "sip:a@host:x",
      "sip:%zz@host",
      "sip:a b@host",
      "sip:a@[::1",
      "sip:a@host;=x",
      "sip:a@host;",
      "tel:",
      "tel:+",
      "example.com"
    ]) {
      expect([bad, Uri.parse(bad)]).toEqual([bad, undefined])
    }
  })

  it("escapes & in the name of a header, which would separate two", () => {
    const uri = Uri.make("example.com", { headers: [{ name: "a&b", value: undefined }] })
    expect(Uri.text(uri)).toBe("sip:example.com?a%26b")
    expect(Uri.parse(Uri.text(uri))).toEqual(uri)
  })

  it("is the same after it was written and parsed again", () => {
    const part = fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" })
    fc.assert(
      fc.property(
        part,
        fc.option(part),
        fc.array(fc.tuple(part, fc.option(part)), { maxLength: 3 }),
        (user, password, list) => {
          const params = list.map(([name, value]) => ({ name, value: value ?? undefined }))
          const uri = Uri.make("example.com", { user, password: password ?? undefined, params, headers: params })
          expect(Uri.parse(Uri.text(uri))).toEqual(uri)
        }
      )
    )
  })

  it("parses any text without an exception", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.integer({ max: 255 }).map((code) => String.fromCharCode(code)) }),
        fc.constantFrom("", "sip:", "tel:", "<sip:", '"'),
        (rest, first) => {
          Uri.parse(first + rest)
          NameAddr.parse(first + rest)
          Via.parse(first + rest)
        }
      )
    )
  })
})

describe("NameAddr", () => {
  it("keeps display names in any script, also without quotes", () => {
    expect(NameAddr.parse('"Søren \\"Kal\\\\\\"" <sip:a@example.com>')?.name).toBe('Søren "Kal\\"')
    expect(NameAddr.parse("Jürgen 山田 <sip:a@example.com>;tag=x")?.name).toBe("Jürgen 山田")
    const named = NameAddr.parse('"a,b;c<d>" <sip:a@example.com;lr>;tag=1')
    expect(named).toMatchObject({ name: "a,b;c<d>", params: [{ name: "tag", value: "1" }] })
    expect(named === undefined ? "" : NameAddr.text(named)).toBe('"a,b;c<d>" <sip:a@example.com;lr>;tag=1')
  })

  it("writes no line breaks, whatever the name has", () => {
    const uri = Uri.make("example.com")
    expect(NameAddr.text({ name: 'x\r\nEvil: "1', uri, params: [] })).toBe('"x Evil: \\"1" <sip:example.com>')
  })
})

describe("Via", () => {
  it("has IPv6 in sent-by and received", () => {
    const via = Via.parse("SIP/2.0/UDP [2001:db8::9]:5061;branch=z9hG4bKa;received=2001:db8::1;rport=5062")
    expect(via).toMatchObject({ transport: "UDP", host: "[2001:db8::9]", port: 5061 })
    expect(via?.params.map(({ value }) => value)).toEqual(["z9hG4bKa", "2001:db8::1", "5062"])
    expect(via === undefined ? "" : Via.text(via)).toBe(
      "SIP/2.0/UDP [2001:db8::9]:5061;branch=z9hG4bKa;received=2001:db8::1;rport=5062"
    )
  })
})
