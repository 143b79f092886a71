import { describe, expect, it } from "@effect/vitest"
import * as Registration from "../../src/dialog/Registration.ts"
import * as Message from "../../src/message/Message.ts"

const started = () =>
  Registration.start({
    registrar: "sip:trunk.example.com",
    address: "sip:user@trunk.example.com",
    contact: "<sip:user@192.0.2.1:5060>",
    account: { username: "user", password: "secret" },
    callId: "c",
    tag: "t",
    salt: "s"
  })

const response = (sent: Message.Request, status: number, headers: Message.Headers = []): Message.Response => ({
  _tag: "Response",
  status,
  reason: "R",
  headers: [...sent.headers, ...headers],
  body: Message.noBody
})

const sentOf = ([, [request]]: Registration.Step): Message.Request => {
  if (request === undefined) throw new Error("nothing is sent")
  return request
}

const challenge = { name: "www-authenticate", value: 'Digest realm="r", nonce="n", qop="auth"' }

describe("Registration", () => {
  it("registers with credentials, and again well before the granted time is over", () => {
    const first = started()
    const second = Registration.response(first[0], sentOf(first), response(sentOf(first), 401, [challenge]), 0)
    expect(Message.header(sentOf(second), "authorization")).toContain('username="user"')
    expect(Message.cseq(sentOf(second))?.number).toBe(2)
    const contact = { name: "contact", value: "<sip:other@192.0.2.9>;expires=9, <sip:user@192.0.2.1:5060>;expires=120" }
    const answer = { ...response(sentOf(second), 200), headers: [contact] }
    const [registered] = Registration.response(second[0], sentOf(second), answer, 1000)
    expect(registered).toMatchObject({ state: "registered", dueAt: 61_000 })
    expect(Registration.advance(registered, 60_999)[1]).toEqual([])
    expect(Message.cseq(sentOf(Registration.advance(registered, 61_000)))?.number).toBe(3)
  })

  it("does not send refused credentials again, and waits ever longer between tries", () => {
    const first = started()
    const second = Registration.response(first[0], sentOf(first), response(sentOf(first), 401, [challenge]), 0)
    const third = Registration.response(second[0], sentOf(second), response(sentOf(second), 401, [challenge]), 0)
    expect(third[1]).toEqual([])
    expect(third[0]).toMatchObject({ state: "failed", failure: "401 R", dueAt: 5000 })
    const pauses: Array<number> = []
    let is = third[0]
    for (let tries = 0; tries < 9; tries++) {
      const now = is.dueAt
      const [waiting] = Registration.advance(is, now)
      const [failed] = Registration.failed(waiting, "timeout", now)
      pauses.push((failed.dueAt - now) / 1000)
      is = failed
    }
    expect(pauses).toEqual([10, 20, 40, 80, 160, 300, 300, 300, 300])
  })

  it("gives up a registrar that calls each nonce too old, and counts the uses of one nonce", () => {
    const stale = { name: "www-authenticate", value: 'Digest realm="r", nonce="n", qop="auth", stale=true' }
    const counts: Array<string | undefined> = []
    let step: Registration.Step = started()
    for (let tries = 0; tries < 10 && step[1].length > 0; tries++) {
      const sent = sentOf(step)
      counts.push(/nc=(\d+)/.exec(Message.header(sent, "authorization") ?? "")?.[1])
      step = Registration.response(step[0], sent, response(sent, 401, [stale]), 0)
    }
    expect(counts).toEqual([undefined, "00000001", "00000002", "00000003"])
    expect(step[0]).toMatchObject({ state: "failed", failure: "401 R" })
    const again = Registration.advance(step[0], step[0].dueAt)
    const fourth = Registration.response(again[0], sentOf(again), response(sentOf(again), 401, [challenge]), 0)
    expect(Message.header(sentOf(fourth), "authorization")).toContain("nc=00000004")
  })

  it("asks for a longer time after 423, and no longer than a day", () => {
    const first = started()
    const brief = (seconds: string) =>
      Registration.response(
        first[0],
        sentOf(first),
        response(sentOf(first), 423, [{ name: "min-expires", value: seconds }]),
        0
      )
    expect(Message.header(sentOf(brief("600")), "expires")).toBe("600")
    expect(brief("999999")[0].state).toBe("failed")
    expect(brief("10")[0].state).toBe("failed")
  })

  it("ends with Expires 0, also with credentials, and is over when no response comes", () => {
    const first = started()
    const [registered] = Registration.response(first[0], sentOf(first), response(sentOf(first), 200), 0)
    const stopping = Registration.stop(registered)
    expect(Message.header(sentOf(stopping), "expires")).toBe("0")
    const challenged = Registration.response(
      stopping[0],
      sentOf(stopping),
      response(sentOf(stopping), 401, [challenge]),
      1
    )
    expect(Message.header(sentOf(challenged), "expires")).toBe("0")
    expect(Registration.failed(challenged[0], "timeout", 2)[0].state).toBe("stopped")
    expect(Registration.stop(stopping[0])[1]).toEqual([])
  })
})
