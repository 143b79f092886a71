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
    expect(calledOf(invite("tel:+49-30-12", { to }), "user")).toBe("+493012")
    expect(calledOf(invite("sip:12345@192.0.2.1", { to }), "12345")).toBe("+4930")
    expect(calledOf(invite("sip:user@192.0.2.1", { to }), "user")).toBe("+4930")
    expect(calledOf(invite("sip:192.0.2.1", { to: "<sip:office@example.com>" }), undefined)).toBe(
      "sip:office@example.com"
    )
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

describe("Transfer.step", () => {
  const run = (steps: ReadonlyArray<readonly [number, "refer" | "notify"]>, isFallback = true) => {
    let transfer: Transfer.Transfer | "done" = Transfer.started
    const reported: Array<string> = []
    for (const [status, from] of steps) {
      if (transfer === "done") break
      const { next, progress } = Transfer.step(transfer, status, "", from, isFallback)
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
