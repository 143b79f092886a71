import { describe, expect, it } from "@effect/vitest"
import { calledOf, callerOf, headersOf, outcomeOf, refusalOf } from "../src/CallParty.ts"
import * as Message from "../src/message/Message.ts"
import * as Transfer from "../src/Transfer.ts"

const invite = (uri: string, headers: Readonly<Record<string, string>>): Message.Request => ({
  _tag: "Request",
  method: "INVITE",
  uri,
  headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
  body: Message.noBody
})

describe("calledOf", () => {
  it("is the number of the Request-URI, or of To in a call to the registered Contact", () => {
    const to = "<sip:+4930@trunk.example>"
    expect(calledOf(invite("sip:+49-30-12@192.0.2.1", { to }), "user")).toBe("+493012")
    expect(calledOf(invite("sip:493012;phone-context=x@192.0.2.1;user=phone", { to }), "user")).toBe("493012")
    expect(calledOf(invite("sip:49301234567@192.0.2.1", { to }), "user")).toBe("+49301234567")
    expect(calledOf(invite("tel:+49-30-12", { to }), "user")).toBe("+493012")
    expect(calledOf(invite("sip:12345@192.0.2.1", { to }), "12345")).toBe("+4930")
    expect(calledOf(invite("sip:user@192.0.2.1", { to }), "user")).toBe("+4930")
    expect(calledOf(invite("sip:192.0.2.1", { to: "<sip:office@example.com>" }), undefined)).toBe(
      "sip:office@example.com"
    )
  })

  it("is the number of P-Called-Party-ID in a call to the registered Contact (RFC 7315, 4.2)", () => {
    const headers = { to: "<sip:user@trunk.example>", "p-called-party-id": "<sip:+493012@trunk.example>" }
    expect(calledOf(invite("sip:user@192.0.2.1", headers), "user")).toBe("+493012")
    expect(calledOf(invite("sip:+4940@192.0.2.1", headers), "user")).toBe("+4940")
    const named = { to: "<sip:+4930@trunk.example>", "p-called-party-id": "<sip:user@trunk.example>" }
    expect(calledOf(invite("sip:user@192.0.2.1", named), "user")).toBe("+4930")
  })
})

describe("callerOf", () => {
  it("prefers P-Asserted-Identity to From, and has the display name", () => {
    const from = '"From" <sip:+111@example.com>;tag=1'
    expect(callerOf(invite("sip:x", { from }))).toEqual({ from: "+111", name: "From" })
    expect(callerOf(invite("sip:x", { from, "p-asserted-identity": '"Asserted" <tel:+222>, <sip:+333@x>' }))).toEqual({
      from: "+222",
      name: "Asserted"
    })
    expect(callerOf(invite("sip:x", { from: "<sip:alice@example.com>;tag=1" })).from).toBe("sip:alice@example.com")
  })

  it("takes P-Asserted-Identity only of a source that is trusted", () => {
    const headers = { from: "<sip:+111@example.com>;tag=1", "p-asserted-identity": "<tel:+222>" }
    expect(callerOf(invite("sip:x", headers), false).from).toBe("+111")
    expect(headersOf(invite("sip:x", headers), false)).toEqual({})
    expect(headersOf(invite("sip:x", headers))).toEqual({ "p-asserted-identity": "<tel:+222>" })
  })

  it("has a number in E.164 where it has a country code, and extensions and national numbers as they are", () => {
    const caller = (uri: string) => callerOf(invite("sip:x", { from: `<${uri}>;tag=1` })).from
    expect(caller("sip:15550100200@trunk.example")).toBe("+15550100200")
    expect(caller("sip:1-555-010-0200@trunk.example;user=phone")).toBe("+15550100200")
    expect(caller("sip:0015550100200@trunk.example")).toBe("+15550100200")
    expect(caller("tel:15550100200")).toBe("+15550100200")
    for (const kept of ["101", "5550100", "5550100200", "030123456", "+15550100200"])
      expect(caller(`sip:${kept}@x`)).toBe(kept)
  })

  it("is a URI without parameters where its user is no number", () => {
    const from = "<sip:alice;x=1@pbx.example:5070;transport=tcp>;tag=1"
    expect(callerOf(invite("sip:x", { from })).from).toBe("sip:alice@pbx.example:5070")
  })

  it("is the number of the phone's user, or else the user's name, whatever From claims", () => {
    const headers = { from: '"Anna" <sip:+111@pbx.example>;tag=1' }
    const caller = (user: string, number?: string) => callerOf(invite("sip:x", headers), false, { user, number })
    expect(caller("anna", "+12025550123")).toEqual({ from: "+12025550123", name: "Anna" })
    expect(caller("door").from).toBe("sip:door@pbx.example")
  })

  it("is null when Privacy has one of several values that withhold it (RFC 3323, 4.2)", () => {
    for (const privacy of ["user;id", "header;user;id", "id ; critical", "id;critical", "critical;ID", "none, id"]) {
      const caller = callerOf(invite("sip:x", { from: '"A" <sip:+111@x>', privacy }))
      expect([privacy, caller]).toEqual([privacy, { from: null, name: undefined }])
    }
    for (const privacy of ["none", "critical", "session;critical"]) {
      expect(callerOf(invite("sip:x", { from: "<sip:+111@x>", privacy })).from).toBe("+111")
    }
  })

  it("is null when the caller is withheld", () => {
    const from = "<sip:anonymous@anonymous.invalid>;tag=1"
    expect(callerOf(invite("sip:x", { from })).from).toBeNull()
    const privacy = { from, "p-asserted-identity": "<sip:+222@x>", privacy: "id" }
    expect(callerOf(invite("sip:x", privacy)).from).toBeNull()
  })
})

describe("headersOf", () => {
  it("gives X- headers and those about the way of a call, joined and limited, and no others", () => {
    const message = {
      headers: [
        { name: "x-account", value: "1" },
        { name: "x-account", value: "2" },
        { name: "diversion", value: "<sip:+1@x>;reason=unconditional" },
        { name: "authorization", value: "Digest …" },
        { name: "x-long", value: "y".repeat(5000) }
      ]
    }
    expect(headersOf(message)).toEqual({
      "x-account": "1, 2",
      diversion: "<sip:+1@x>;reason=unconditional",
      "x-long": "y".repeat(1000)
    })
  })
})

describe("statuses", () => {
  it("are 486 busy, 603 declined, 480 unavailable, 404 unknown number", () => {
    expect(
      (["busy", "declined", "unavailable", "unknown-number"] as const).map((cause) => refusalOf(cause).status)
    ).toEqual([486, 603, 480, 404])
  })

  it("mean: 486 and 600 busy, 480 and 408 no-answer, all else failed", () => {
    expect([486, 600, 480, 408, 404, 403, 500, 503, 603, 487].map(outcomeOf)).toEqual([
      "busy",
      "busy",
      "no-answer",
      "no-answer",
      ...Array.from({ length: 6 }, () => "failed")
    ])
  })
})

describe("Transfer.reasonOf", () => {
  it("has the status that the peer has sent, and no other", () => {
    expect(Transfer.reasonOf({ status: 403, reason: "Forbidden", isReported: true })).toBe("403 Forbidden")
    expect(Transfer.reasonOf({ status: 403, reason: "", isReported: true })).toBe("403")
    expect(Transfer.reasonOf({ status: 408, reason: "no response to REFER: timeout", isReported: false })).toBe(
      "no response to REFER: timeout"
    )
  })
})

describe("Transfer.step", () => {
  const run = (steps: ReadonlyArray<readonly [number, "refer" | "notify"]>, isFallback = true) => {
    let transfer: Transfer.Transfer | "done" = Transfer.started
    const reported: Array<string> = []
    for (const [status, from] of steps) {
      if (transfer === "done") break
      const { next, progress } = Transfer.step(transfer, { status, reason: "", from }, isFallback)
      transfer = next
      if (progress !== undefined)
        reported.push(progress.refused === true ? `${progress.state} refused` : progress.state)
    }
    return reported
  }

  it("reports ringing once, and then one outcome", () => {
    expect(
      run([
        [100, "notify"],
        [180, "notify"],
        [183, "notify"],
        [200, "notify"],
        [200, "notify"]
      ])
    ).toEqual(["ringing", "completed"])
    expect(
      run([
        [202, "refer"],
        [200, "notify"]
      ])
    ).toEqual(["completed"])
    expect(run([[486, "notify"]])).toEqual(["busy"])
    expect(run([[480, "notify"]])).toEqual(["no-answer"])
    expect(run([[603, "notify"]])).toEqual(["rejected"])
    expect(run([[503, "notify"]])).toEqual(["failed"])
  })

  it("says that the network refuses REFER only where a second call is wanted, and not after silence", () => {
    expect(run([[405, "refer"]])).toEqual(["failed refused"])
    expect(run([[405, "refer"]], false)).toEqual(["failed"])
    expect(run([[408, "refer"]])).toEqual(["failed"])
  })
})
