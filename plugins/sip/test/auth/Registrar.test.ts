import { describe, expect, it } from "@effect/vitest"
import { Registrar } from "../../src/auth/Registrar.ts"
import { usersOf } from "../../src/auth/Users.ts"
import * as Message from "../../src/message/Message.ts"

const peer = { transport: "udp", address: "192.0.2.9", port: 40_000 } as const

const request = (number: number, headers: Readonly<Record<string, string>>, callId = "a"): Message.Request => ({
  _tag: "Request",
  method: "REGISTER",
  uri: "sip:pbx.example",
  headers: Object.entries({
    to: "<sip:anna@pbx.example>",
    "call-id": callId,
    cseq: `${number} REGISTER`,
    ...headers
  }).map(([name, value]) => ({ name, value })),
  body: Message.noBody
})

const contact = "<sip:anna@10.0.0.5:5060>"

describe("Registrar", () => {
  it("keeps a phone for the time it asks for, at most an hour, and says which phones there are", () => {
    const registrar = new Registrar()
    const answer = registrar.register(request(1, { contact, expires: "90000" }), "anna", peer, 0)
    expect(answer).toMatchObject({ status: 200, headers: [{ name: "contact", value: `${contact};expires=3600` }] })
    expect(registrar.phones("anna", 3_599_000)).toMatchObject([{ peer, host: "pbx.example" }])
    expect(registrar.phones("anna", 3_600_000)).toEqual([])
    expect(registrar.register(request(2, {}), "anna", peer, 600_000).headers[0]?.value).toContain("expires=3000")
  })

  it("removes a phone that registers for 0 s, and all with *", () => {
    const registrar = new Registrar()
    const second = "<sip:anna@10.0.0.6>"
    registrar.register(request(1, { contact: `${contact}, ${second}` }), "anna", peer, 0)
    expect(registrar.phones("anna", 0)).toHaveLength(2)
    registrar.register(request(2, { contact: `${contact};expires=0` }), "anna", peer, 0)
    expect(registrar.phones("anna", 0).map((each) => each.contact.host)).toEqual(["10.0.0.6"])
    expect(registrar.register(request(3, { contact: "*", expires: "60" }), "anna", peer, 0).status).toBe(400)
    expect(registrar.register(request(4, { contact: "*", expires: "0" }), "anna", peer, 0).status).toBe(200)
    expect(registrar.phones("anna", 0)).toEqual([])
  })

  it("refuses the address of another user, times that are too short, and requests that were overtaken", () => {
    const registrar = new Registrar()
    const other = request(1, { contact, to: "<sip:bert@pbx.example>" })
    expect(registrar.register(other, "anna", peer, 0).status).toBe(403)
    expect(registrar.register(request(1, { contact, expires: "30" }), "anna", peer, 0)).toMatchObject({
      status: 423,
      headers: [{ name: "min-expires", value: "60" }]
    })
    registrar.register(request(7, { contact }), "anna", peer, 0)
    expect(registrar.register(request(6, { contact: `${contact};expires=0` }), "anna", peer, 0).status).toBe(400)
    expect(registrar.register(request(1, { contact: "<tel:+4930>" }), "anna", peer, 0).status).toBe(400)
    expect(registrar.phones("anna", 0)).toHaveLength(1)
  })

  it("keeps the newest five phones of a user", () => {
    const registrar = new Registrar()
    for (let host = 1; host <= 8; host++) {
      registrar.register(request(1, { contact: `<sip:anna@10.0.0.${host}>` }, `call ${host}`), "anna", peer, host)
    }
    const hosts = registrar.phones("anna", 10).map((each) => each.contact.host)
    expect(hosts).toEqual([8, 7, 6, 5, 4].map((host) => `10.0.0.${host}`))
  })
})

describe("usersOf", () => {
  it("reads names and passwords, which may have a colon, and refuses what is malformed", () => {
    expect([...(usersOf("anna:a:b, door:c")?.passwords ?? [])]).toEqual([
      ["anna", "a:b"],
      ["door", "c"]
    ])
    for (const bad of ["", ",", "anna", "anna:", ":secret", "a b:secret", "anna:a,anna:b"]) {
      expect([bad, usersOf(bad)]).toEqual([bad, undefined])
    }
  })

  it("reads the number of a phone after its password, each number once", () => {
    expect(usersOf("anna:secret:+4930123456, door:a:b:+12025550123,hall:x:y")).toEqual({
      passwords: new Map([
        ["anna", "secret"],
        ["door", "a:b"],
        ["hall", "x:y"]
      ]),
      numbers: new Map([
        ["+4930123456", "anna"],
        ["+12025550123", "door"]
      ])
    })
    expect(usersOf("anna:x:+4930123456,door:y:+4930123456")).toBeUndefined()
    for (const mistyped of ["+49", "030123456", "+49 30 123456", ""]) {
      expect(usersOf(`anna:secret:${mistyped}`)).toBeUndefined()
    }
    expect(usersOf("anna::+4930123456")).toBeUndefined()
  })
})
