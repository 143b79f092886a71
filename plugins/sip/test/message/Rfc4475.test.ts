import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import * as Message from "../../src/message/Message.ts"
import * as Parser from "../../src/message/Parser.ts"
import { refusalOf } from "../../src/message/RequestCheck.ts"
import { serialize } from "../../src/message/Serializer.ts"
import { paramOf } from "../../src/message/Syntax.ts"
import * as Uri from "../../src/message/Uri.ts"

const folder = fileURLToPath(new URL("rfc4475/", import.meta.url))
const names = readdirSync(folder).flatMap((file) => (file.endsWith(".dat") ? [file.slice(0, -4)] : []))
const bytes = (name: string): Uint8Array => readFileSync(`${folder}${name}.dat`)

const message = (name: string): Message.Message => {
  const parsed = Parser.parse(bytes(name))
  if (parsed._tag !== "Message") throw new Error(`${name}: ${parsed._tag}: ${parsed.reason}`)
  return parsed.message
}

const request = (name: string): Message.Request => {
  const parsed = message(name)
  if (parsed._tag !== "Request") throw new Error(`${name} is a response`)
  return parsed
}

const sip = (uri: Uri.Uri | undefined): Uri.SipUri => {
  if (uri?._tag !== "Sip") throw new Error("not a SIP URI")
  return uri
}

/** What is done with each message that is not answered as any other: a status, or `ignored`. */
const outcomes: { readonly [name: string]: number | "ignored" } = {
  // 3.1.1: valid, with a method that is not answered here.
  intmeth: 501,
  esc02: 501,
  escnull: 405,
  dblreq: 405,
  mpart01: 405,
  // 3.1.2: invalid.
  badinv01: 400,
  clerr: 400,
  ncl: 400,
  scalar02: 400,
  scalarlg: "ignored",
  quotbal: 400,
  ltgtruri: 400,
  lwsruri: 400,
  lwsstart: 400,
  trws: 400,
  escruri: 400,
  regbadct: 400,
  badaspec: 400,
  baddn: 400,
  badvers: 505,
  mismatch01: 400,
  mismatch02: 501,
  bigcode: "ignored",
  // 3.2 and 3.3.
  badbranch: 400,
  insuf: 400,
  unkscm: 416,
  novelsc: 416,
  unksm2: 405,
  bext01: 420,
  invut: 415,
  regaut01: 405,
  multi01: 400,
  mcl01: 400,
  cparam01: 405,
  cparam02: 405,
  regescrt: 405,
  sdp01: 406
}

const outcomeOf = (name: string): number | "ignored" | "accepted" => {
  const parsed = Parser.parse(bytes(name))
  if (parsed._tag === "Refused") return parsed.status
  if (parsed._tag === "Ignored") return "ignored"
  return parsed.message._tag === "Request" ? (refusalOf(parsed.message)?.status ?? "accepted") : "accepted"
}

describe("The messages of RFC 4475", () => {
  it("are 49, and each is accepted, refused with the right status, or ignored", () => {
    expect(names).toHaveLength(49)
    const expected = Object.fromEntries(names.map((name) => [name, outcomes[name] ?? "accepted"]))
    expect(Object.fromEntries(names.map((name) => [name, outcomeOf(name)]))).toEqual(expected)
  })

  it("mean the same after they were serialized and parsed again", () => {
    for (const name of names) {
      const first = Parser.parse(bytes(name))
      if (first._tag !== "Message") continue
      const second = Parser.parse(serialize(first.message))
      if (second._tag !== "Message") throw new Error(`${name}: ${second.reason}`)
      const withoutLength = (each: Message.Message) => ({
        ...each,
        body: [...each.body],
        headers: each.headers.filter((header) => header.name !== "content-length")
      })
      expect(withoutLength(second.message)).toEqual(withoutLength(first.message))
    }
  })

  it("wsinv: folded lines, compact names, quoted pairs and leading zeros", () => {
    const invite = request("wsinv")
    expect(Message.address(invite, "to")).toMatchObject({ name: "", params: [{ name: "tag", value: "1918181833n" }] })
    expect(Message.address(invite, "from")?.name).toBe('J Rosenberg \\"')
    expect(Message.tag(invite, "from")).toBe("98asjd8")
    expect(Message.cseq(invite)).toEqual({ number: 9, method: "INVITE" })
    expect(Message.header(invite, "max-forwards")).toBe("0068")
    expect(Message.header(invite, "subject")).toBe("")
    expect(Message.header(invite, "newfangledheader")).toBe("newfangled value continued newfangled value")
    expect(Message.header(invite, "unknownheaderwithunusualvalue")).toBe(";;,,;;,;")
    expect(Message.vias(invite)?.map((via) => [via.transport, via.host, paramOf(via.params, "branch")])).toEqual([
      ["UDP", "192.0.2.2", "390skdjuw"],
      ["TCP", "spindle.example.com", "z9hG4bK9ikj8"],
      ["UDP", "192.168.255.111", "z9hG4bK30239"]
    ])
    expect(Message.addresses(invite, "route")).toMatchObject([
      {
        uri: {
          host: "services.example.com",
          params: [
            { name: "lr", value: undefined },
            { name: "unknownwith", value: "value" },
            { name: "unknown-no-value", value: undefined }
          ]
        }
      }
    ])
    expect(Message.addresses(invite, "contact")).toMatchObject([
      {
        name: 'Quoted string ""',
        params: [
          { name: "newparam", value: "newvalue" },
          { name: "secondparam", value: undefined },
          { name: "q", value: "0.33" }
        ]
      }
    ])
    expect(invite.body).toHaveLength(150)
  })

  it("intmeth: all characters that tokens, URIs and words may have", () => {
    const odd = request("intmeth")
    expect(odd.method).toBe("!interesting-Method0123456789_*+`.%indeed'~")
    const uri = sip(Uri.parse(odd.uri))
    expect(uri.user).toBe("1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*")
    expect(uri.password).toBe("&it+has=1,weird!*pas$wo~d_too.(doesn't-it)")
    expect(Message.address(odd, "to")?.name).toBe("BEL:\x07 NUL:\x00 DEL:\x7f")
    expect(Message.address(odd, "from")).toMatchObject({
      name: "token1~` token2'+_ token3*%!.-",
      params: [
        { name: "fromParam''~+*_!.-%", value: "работающий" },
        { name: "tag", value: "_token~1'+`*%!-." }
      ]
    })
    expect(Message.callId(odd)).toBe("intmeth.word%ZK-!.*_+'@word`~)(><:\\/\"][?}{")
    expect(Message.header(odd, "extensionheader-!.%*+_`'~")).toBe("\ufeff大停電")
  })

  it("esc01, escnull, esc02: % is an escape in URIs, once, and nowhere else", () => {
    expect(sip(Uri.parse(request("esc01").uri)).user).toBe("sips:user@example.com")
    const contact = sip(Message.addresses(request("esc01"), "contact")?.[0]?.uri)
    expect(contact.user).toBe("caller")
    expect(contact.params).toEqual([
      { name: "lr", value: undefined },
      { name: "name", value: "value%41" }
    ])
    const register = request("escnull")
    expect(sip(Message.address(register, "to")?.uri).user).toBe("null-\0-null")
    const contacts = Message.addresses(register, "contact")?.map(({ uri }) => sip(uri))
    expect(contacts?.map(({ user }) => user)).toEqual(["\0", "\0\0"])
    const [one, other] = contacts ?? []
    expect(one !== undefined && other !== undefined && Uri.equal(one, other)).toBe(false)
    expect(request("esc02").method).toBe("RE%47IST%45R")
    expect(Message.address(request("esc02"), "to")?.name).toBe("%Z%45")
    expect(Message.addresses(request("esc02"), "contact")).toHaveLength(2)
  })

  it("lwsdisp, longreq, semiuri, transports, inv2543: unusual forms of valid headers", () => {
    expect(Message.address(request("lwsdisp"), "from")?.name).toBe("caller")
    const long = request("longreq")
    expect(Message.vias(long)).toHaveLength(34)
    expect(Message.vias(long)?.[0]).toMatchObject({ transport: "TCP", host: "sip33.example.com" })
    expect(Message.tag(long, "from")).toMatch(/^12982{1}/)
    expect(sip(Message.address(long, "to")?.uri)).toMatchObject({ host: "example.com", port: 6000 })
    expect(sip(Uri.parse(request("semiuri").uri)).user).toBe("user;par=u@example.net")
    expect(Message.vias(request("transports"))?.map(({ transport }) => transport)).toEqual(
      "UDP SCTP TLS UNKNOWN TCP".split(" ")
    )
    const old = request("inv2543")
    expect(Message.tag(old, "from")).toBeUndefined()
    expect(old.body.length).toBeGreaterThan(100)
  })

  it("dblreq, mpart01: the body is as long as Content-Length says, bytes included", () => {
    expect(request("dblreq").body).toHaveLength(0)
    expect(request("mpart01").body).toHaveLength(553)
    expect([...request("mpart01").body].filter((byte) => byte === 0).length).toBeGreaterThan(0)
  })

  it("unreason, noreason, bcast: reason phrases in UTF-8 and empty, and a response with two values of Via", () => {
    expect(message("unreason")).toMatchObject({
      status: 200,
      reason: "= 2**3 * 5**2 но сто девяносто девять - простое"
    })
    expect(message("noreason")).toMatchObject({ status: 100, reason: "" })
    expect(Message.vias(message("bcast"))).toHaveLength(2)
  })

  it("unksm2, cparam01, cparam02, regescrt: schemes and parameters of addresses", () => {
    const unknown = request("unksm2")
    expect(Message.address(unknown, "to")?.uri).toEqual({ _tag: "Other", scheme: "isbn", text: "isbn:2983792873" })
    expect(Message.addresses(unknown, "contact")).toMatchObject([{ uri: { scheme: "name" } }])
    const param = [{ name: "unknownparam", value: undefined }]
    expect(Message.addresses(request("cparam01"), "contact")).toMatchObject([{ params: param, uri: { params: [] } }])
    expect(Message.addresses(request("cparam02"), "contact")).toMatchObject([{ params: [], uri: { params: param } }])
    expect(sip(Message.addresses(request("regescrt"), "contact")?.[0]?.uri).headers).toEqual([
      { name: "Route", value: "<sip:sip.example.com>" }
    ])
  })
})
