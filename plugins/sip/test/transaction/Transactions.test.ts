import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Message from "../../src/message/Message.ts"
import type { Peer } from "../../src/transaction/Peer.ts"
import { usualTiming } from "../../src/transaction/Timing.ts"
import { type Effect, serverKey, Transactions } from "../../src/transaction/Transactions.ts"

const udp: Peer = { transport: "udp", address: "192.0.2.1", port: 5060 }
const tcp: Peer = { ...udp, transport: "tcp" }

const request = (method: string, branch = "z9hG4bK1"): Message.Request => ({
  _tag: "Request",
  method,
  uri: "sip:a@example.com",
  headers: [
    { name: "via", value: `SIP/2.0/UDP 192.0.2.9;branch=${branch}` },
    { name: "from", value: "<sip:b@example.com>;tag=f" },
    { name: "to", value: "<sip:a@example.com>" },
    { name: "call-id", value: "c" },
    { name: "cseq", value: `7 ${method}` },
    { name: "max-forwards", value: "70" }
  ],
  body: Message.noBody
})

const response = (to: Message.Request, status: number): Message.Response => ({
  _tag: "Response",
  status,
  reason: "",
  headers: to.headers.map((each) => (each.name === "to" ? { ...each, value: `${each.value};tag=t` } : each)),
  body: Message.noBody
})

/** Runs the timers until a time, and gives the times of all that is sent. */
const sentUntil = (transactions: Transactions, until: number): ReadonlyArray<readonly [number, Effect]> => {
  const all: Array<readonly [number, Effect]> = []
  while (transactions.dueAt <= until) {
    const now = transactions.dueAt
    for (const effect of transactions.advance(now)) all.push([now, effect])
  }
  return all
}

const times = (effects: ReadonlyArray<readonly [number, Effect]>) =>
  effects.flatMap(([at, { _tag }]) => (_tag === "Send" ? [at] : []))

const statusOf = (effect: Effect | undefined): number | undefined =>
  effect?._tag === "Send" && effect.message._tag === "Response" ? effect.message.status : undefined

describe("Transactions", () => {
  it("repeats an INVITE over UDP at T1 doubling, and fails after 64 T1 (timers A and B)", () => {
    const transactions = new Transactions(usualTiming)
    expect(transactions.request(request("INVITE"), udp, 0)).toHaveLength(1)
    const effects = sentUntil(transactions, 60_000)
    expect(times(effects)).toEqual([500, 1500, 3500, 7500, 15_500, 31_500])
    expect(effects.at(-1)).toMatchObject([32_000, { _tag: "Failed", reason: "timeout" }])
    expect(transactions.size).toBe(0)
  })

  it("repeats other requests at most every T2, and fails after 64 T1 (timers E and F)", () => {
    const transactions = new Transactions(usualTiming)
    transactions.request(request("BYE"), udp, 0)
    const effects = sentUntil(transactions, 60_000)
    expect(times(effects)).toEqual([500, 1500, 3500, 7500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500])
    expect(effects.at(-1)).toMatchObject([32_000, { _tag: "Failed" }])
  })

  it("repeats nothing over TCP, and fails all the same", () => {
    const transactions = new Transactions(usualTiming)
    transactions.request(request("INVITE"), tcp, 0)
    transactions.request(request("BYE", "z9hG4bK2"), tcp, 0)
    const effects = sentUntil(transactions, 60_000)
    expect(effects.map(([at, { _tag }]) => [at, _tag])).toEqual([
      [32_000, "Failed"],
      [32_000, "Failed"]
    ])
  })

  it("stops to repeat an INVITE at a provisional response, and waits without a limit", () => {
    const transactions = new Transactions(usualTiming)
    transactions.request(request("INVITE"), udp, 0)
    expect(transactions.receive(response(request("INVITE"), 180), udp, 100)).toMatchObject([{ _tag: "Response" }])
    expect(sentUntil(transactions, 10_000_000)).toEqual([])
  })

  it("sends an ACK for each 486, reports it once, and forgets the transaction after timer D", () => {
    const transactions = new Transactions(usualTiming)
    transactions.request(request("INVITE"), udp, 0)
    const busy = response(request("INVITE"), 486)
    const [ack, reported] = transactions.receive(busy, udp, 100)
    expect(reported).toMatchObject({ _tag: "Response", response: { status: 486 } })
    if (ack?._tag !== "Send" || ack.message._tag !== "Request") throw new Error("no ACK")
    expect(ack.message.method).toBe("ACK")
    expect(Message.header(ack.message, "via")).toBe("SIP/2.0/UDP 192.0.2.9;branch=z9hG4bK1")
    expect(Message.header(ack.message, "to")).toBe("<sip:a@example.com>;tag=t")
    expect(Message.header(ack.message, "cseq")).toBe("7 ACK")
    expect(transactions.receive(busy, udp, 200).map(({ _tag }) => _tag)).toEqual(["Send"])
    sentUntil(transactions, 40_000)
    expect(transactions.size).toBe(0)
  })

  it("reports each 2xx of an INVITE, so that the call can acknowledge forks and repetitions (RFC 6026)", () => {
    const transactions = new Transactions(usualTiming)
    transactions.request(request("INVITE"), udp, 0)
    const ok = response(request("INVITE"), 200)
    expect(transactions.receive(ok, udp, 10)).toMatchObject([{ _tag: "Response" }])
    expect(transactions.receive(ok, udp, 20)).toMatchObject([{ _tag: "Response" }])
    sentUntil(transactions, 33_000)
    expect(transactions.receive(ok, udp, 33_001)).toMatchObject([{ _tag: "Stray" }])
  })

  it("absorbs a repeated request, and repeats the last response", () => {
    const transactions = new Transactions(usualTiming)
    const [first] = transactions.receive(request("INVITE"), udp, 0)
    if (first?._tag !== "Request") throw new Error("no request")
    expect(transactions.receive(request("INVITE"), udp, 5)).toEqual([])
    transactions.respond(first.key, response(request("INVITE"), 100), 6)
    expect(statusOf(transactions.receive(request("INVITE"), udp, 10)[0])).toBe(100)
    transactions.respond(first.key, response(request("INVITE"), 486), 20)
    expect(times(sentUntil(transactions, 12_000))).toEqual([520, 1520, 3520, 7520, 11_520])
    expect(transactions.receive(request("ACK"), udp, 12_100)).toEqual([])
    expect(times(sentUntil(transactions, 60_000))).toEqual([])
    expect(transactions.size).toBe(0)
  })

  it("gives up on the ACK of a refusal after 64 T1 (timer H)", () => {
    const transactions = new Transactions(usualTiming)
    const [first] = transactions.receive(request("INVITE"), udp, 0)
    transactions.respond(first?._tag === "Request" ? first.key : "", response(request("INVITE"), 486), 0)
    sentUntil(transactions, 32_000)
    expect(transactions.size).toBe(0)
  })

  it("leaves the repetition of a 2xx to the call, and absorbs the INVITE meanwhile", () => {
    const transactions = new Transactions(usualTiming)
    const [first] = transactions.receive(request("INVITE"), udp, 0)
    const key = first?._tag === "Request" ? first.key : ""
    expect(transactions.respond(key, response(request("INVITE"), 200), 0)).toHaveLength(1)
    expect(transactions.receive(request("INVITE"), udp, 10)).toEqual([])
    expect(times(sentUntil(transactions, 31_999))).toEqual([])
    expect(transactions.respond(key, response(request("INVITE"), 200), 31_000)).toHaveLength(1)
    expect(transactions.receive(request("ACK", "z9hG4bKother"), udp, 20)).toMatchObject([{ _tag: "Ack" }])
  })

  it("matches a CANCEL with its INVITE, and builds one with the branch of ours after a provisional response only", () => {
    const server = new Transactions(usualTiming)
    server.receive(request("INVITE"), udp, 0)
    expect(server.receive(request("CANCEL"), udp, 1)).toMatchObject([{ _tag: "Request", cancels: expect.any(String) }])
    expect(server.receive(request("CANCEL", "z9hG4bK9"), udp, 1)).toMatchObject([{ cancels: undefined }])
    const client = new Transactions(usualTiming)
    client.request(request("INVITE"), udp, 0)
    expect(client.cancel("z9hG4bK1", 1)).toEqual([])
    client.receive(response(request("INVITE"), 180), udp, 2)
    const [sent] = client.cancel("z9hG4bK1", 3)
    if (sent?._tag !== "Send") throw new Error("no CANCEL")
    expect(Message.header(sent.message, "cseq")).toBe("7 CANCEL")
    expect(Message.header(sent.message, "via")).toBe("SIP/2.0/UDP 192.0.2.9;branch=z9hG4bK1")
  })

  it("distinguishes peers that chose the same branch, and matches RFC 2543 requests without one", () => {
    const transactions = new Transactions(usualTiming)
    const other = {
      ...request("OPTIONS"),
      headers: request("OPTIONS").headers.map((each) =>
        each.name === "via" ? { ...each, value: "SIP/2.0/UDP 192.0.2.10;branch=z9hG4bK1" } : each
      )
    }
    expect(transactions.receive(request("OPTIONS"), udp, 0)).toHaveLength(1)
    expect(transactions.receive(other, udp, 0)).toHaveLength(1)
    const old = {
      ...request("INVITE"),
      headers: request("INVITE").headers.map((each) =>
        each.name === "via" ? { ...each, value: "SIP/2.0/UDP 192.0.2.9" } : each
      )
    }
    const [first] = transactions.receive(old, udp, 0)
    expect(first).toMatchObject({ _tag: "Request" })
    expect(transactions.receive(old, udp, 1)).toEqual([])
    transactions.respond(first?._tag === "Request" ? first.key : "", response(old, 486), 2)
    const ack = {
      ...old,
      method: "ACK",
      headers: old.headers.map((each) =>
        each.name === "cseq"
          ? { ...each, value: "7 ACK" }
          : each.name === "to"
            ? { ...each, value: `${each.value};tag=t` }
            : each
      )
    }
    expect(transactions.receive(ack, udp, 3)).toEqual([])
    expect(times(sentUntil(transactions, 60_000))).toEqual([])
  })

  it("ignores responses with more than one value of Via, and those to nothing", () => {
    const transactions = new Transactions(usualTiming)
    transactions.request(request("OPTIONS"), udp, 0)
    const ok = response(request("OPTIONS"), 200)
    const via = { name: "via", value: "SIP/2.0/UDP 255.255.255.255;branch=z9hG4bK2" }
    expect(transactions.receive({ ...ok, headers: [...ok.headers, via] }, udp, 1)).toEqual([])
    expect(transactions.receive(response(request("OPTIONS", "z9hG4bKx"), 200), udp, 1)).toEqual([])
    expect(transactions.receive(ok, udp, 1)).toHaveLength(1)
  })

  it("ends every request with one outcome on a network that loses, repeats and reorders, and keeps nothing", () => {
    const fate = fc.record({ lost: fc.boolean(), delay: fc.nat(400), again: fc.option(fc.nat(400)) })
    fc.assert(
      fc.property(
        fc.constantFrom("INVITE", "BYE"),
        fc.constantFrom(200, 486),
        fc.infiniteStream(fate),
        (method, status, fates) => {
          const client = new Transactions(usualTiming)
          const server = new Transactions(usualTiming)
          const flying: Array<{ readonly at: number; readonly to: Transactions; readonly message: Message.Message }> =
            []
          const outcomes: Array<Effect> = []
          let requests = 0
          const run = (of: Transactions, effects: ReadonlyArray<Effect>, now: number): void => {
            for (const effect of effects) {
              if (effect._tag === "Send") {
                const { lost, delay, again } = fates.next().value
                const to = of === client ? server : client
                if (!lost) flying.push({ at: now + delay, to, message: effect.message })
                if (again !== null) flying.push({ at: now + again, to, message: effect.message })
              } else if (effect._tag === "Request") {
                requests++
                run(of, of.respond(effect.key, response(effect.request, status), now), now)
              } else if (effect._tag === "Response" || effect._tag === "Failed") outcomes.push(effect)
            }
          }
          run(client, client.request(request(method), udp, 0), 0)
          for (let steps = 0; steps < 5000; steps++) {
            flying.sort((a, b) => a.at - b.at)
            const arrival = flying[0]?.at ?? Number.POSITIVE_INFINITY
            const now = Math.min(arrival, client.dueAt, server.dueAt)
            if (now === Number.POSITIVE_INFINITY) break
            if (arrival === now) {
              const packet = flying.shift()
              if (packet !== undefined) run(packet.to, packet.to.receive(packet.message, udp, now), now)
            }
            run(client, client.advance(now), now)
            run(server, server.advance(now), now)
          }
          expect([client.size, server.size]).toEqual([0, 0])
          expect(requests).toBeLessThanOrEqual(1)
          const isRepeatable = method === "INVITE" && status === 200
          expect(outcomes.length).toBeGreaterThan(0)
          if (!isRepeatable) expect(outcomes).toHaveLength(1)
        }
      ),
      { numRuns: 100 }
    )
  })

  it("answers over UDP to the port of sent-by, 5060 where there is none, and with rport to the source port", () => {
    const source: Peer = { transport: "udp", address: "198.51.100.7", port: 40_000 }
    const ports = (via: string, from: Peer = source) => {
      const transactions = new Transactions(usualTiming)
      const invite = {
        ...request("INVITE"),
        headers: [{ name: "via", value: via }, ...request("INVITE").headers.slice(1)]
      }
      const [effect] = transactions.receive(invite, from, 0)
      if (effect?._tag !== "Request") throw new Error("the request was not taken")
      expect(effect.peer).toEqual(from)
      return transactions
        .respond(effect.key, response(invite, 486), 0)
        .map((each) => (each._tag === "Send" ? `${each.peer.address}:${each.peer.port}` : each._tag))
    }
    expect(ports("SIP/2.0/UDP 10.0.0.1:5070;branch=z9hG4bKa")).toEqual(["198.51.100.7:5070"])
    expect(ports("SIP/2.0/UDP 10.0.0.1;branch=z9hG4bKa")).toEqual(["198.51.100.7:5060"])
    expect(ports("SIP/2.0/UDP 10.0.0.1:5070;rport=40000;branch=z9hG4bKa")).toEqual(["198.51.100.7:40000"])
    expect(ports("SIP/2.0/TCP 10.0.0.1:5070;branch=z9hG4bKa", { ...source, transport: "tcp" })).toEqual([
      "198.51.100.7:40000"
    ])
  })

  it("keeps places for other sources when one fills its quarter of the server transactions", () => {
    const transactions = new Transactions(usualTiming)
    const isTaken = (branch: string, peer: Peer): boolean =>
      transactions.receive(request("OPTIONS", branch), peer, 0).length > 0
    for (let index = 0; index < 5000; index++) transactions.receive(request("OPTIONS", `z9hG4bK${index}`), udp, 0)
    expect(isTaken("z9hG4bKmore", udp)).toBe(false)
    expect(isTaken("z9hG4bKother", { ...udp, address: "192.0.2.2" })).toBe(true)
    const taken = request("OPTIONS", "z9hG4bK7")
    transactions.respond(serverKey(taken), response(taken, 200), 0)
    sentUntil(transactions, 60_000)
    expect(isTaken("z9hG4bKmore", udp)).toBe(true)
  })
})
