import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Uri from "../../src/message/Uri.ts"
import { locate, type Names, type Service } from "../../src/transport/Locator.ts"

const names = (
  services: Readonly<Record<string, ReadonlyArray<Service>>>,
  hosts: Readonly<Record<string, string>>
): Names => ({
  services: (name) => Effect.succeed(services[name] ?? []),
  addresses: (name) => Effect.succeed(hosts[name] === undefined ? [] : [hosts[name]])
})

const found = (text: string, of: Names, transports: ReadonlyArray<"udp" | "tcp" | "tls"> = ["udp", "tcp"]) =>
  Effect.gen(function* () {
    const uri = Uri.parse(text)
    if (uri === undefined) return yield* Effect.dieMessage(text)
    const peers = yield* locate(uri, of, transports, () => 0.5)
    return peers.map(
      ({ address, host, port, transport }) =>
        `${transport} ${address}:${port}${host === undefined ? "" : ` as ${host}`}`
    )
  })

const dns = names(
  {
    "_sip._udp.trunk.example": [
      { host: "b.example", port: 5070, priority: 20, weight: 1 },
      { host: "a.example", port: 5071, priority: 10, weight: 1 }
    ],
    "_sips._tcp.trunk.example": [{ host: "a.example", port: 5073, priority: 10, weight: 1 }],
    "_sip._tcp.trunk.example": [{ host: "a.example", port: 5072, priority: 10, weight: 1 }]
  },
  { "a.example": "192.0.2.1", "b.example": "192.0.2.2", "trunk.example": "192.0.2.9", "plain.example": "192.0.2.8" }
)

describe("locate", () => {
  it.effect("takes IP addresses as they are, IPv6 and maddr too", () =>
    Effect.gen(function* () {
      expect(yield* found("sip:a@192.0.2.5", dns)).toEqual(["udp 192.0.2.5:5060"])
      expect(yield* found("sip:a@[2001:db8::1]:5070;transport=tcp", dns)).toEqual(["tcp 2001:db8::1:5070"])
      expect(yield* found("sip:a@trunk.example;maddr=192.0.2.6", dns)).toEqual(["udp 192.0.2.6:5060"])
    })
  )

  it.effect("takes the first transport that is on for an IP address without one where UDP is off", () =>
    Effect.gen(function* () {
      expect(yield* found("sip:192.0.2.5:5070", dns, ["tcp", "tls"])).toEqual(["tcp 192.0.2.5:5070"])
      expect(yield* found("sip:192.0.2.5", dns, ["tcp", "udp"])).toEqual(["udp 192.0.2.5:5060"])
    })
  )

  it.effect("asks SRV in the order of priority where there is no port, and of the transport that is named", () =>
    Effect.gen(function* () {
      expect(yield* found("sip:trunk.example", dns)).toEqual(["udp 192.0.2.1:5071", "udp 192.0.2.2:5070"])
      expect(yield* found("sip:trunk.example;transport=tcp", dns)).toEqual(["tcp 192.0.2.1:5072"])
      expect(yield* found("sip:trunk.example:5080", dns)).toEqual(["udp 192.0.2.9:5080"])
      expect(yield* found("sip:plain.example", dns, ["tcp"])).toEqual(["tcp 192.0.2.8:5060"])
    })
  )

  it.effect("finds TLS for sips and transport=tls, with the name of the URI for the certificate", () =>
    Effect.gen(function* () {
      const all = ["udp", "tcp", "tls"] as const
      for (const uri of ["sips:trunk.example", "sips:trunk.example;transport=tcp", "sip:trunk.example;transport=tls"]) {
        expect(yield* found(uri, dns, all)).toEqual(["tls 192.0.2.1:5073 as trunk.example"])
      }
      expect(yield* found("sips:plain.example", dns, all)).toEqual(["tls 192.0.2.8:5061 as plain.example"])
      expect(yield* found("sips:192.0.2.7", dns, all)).toEqual(["tls 192.0.2.7:5061"])
      const udp = yield* Effect.flip(found("sips:192.0.2.7;transport=udp", dns, all))
      expect(udp.reason).toContain("needs TLS")
    })
  )

  it.effect("prefers the heavier of two services with the same priority, more often than not", () =>
    Effect.gen(function* () {
      const two = names(
        {
          "_sip._udp.x.example": [
            { host: "light.example", port: 1, priority: 1, weight: 1 },
            { host: "heavy.example", port: 2, priority: 1, weight: 100 }
          ]
        },
        { "light.example": "192.0.2.1", "heavy.example": "192.0.2.2" }
      )
      expect((yield* found("sip:x.example", two))[0]).toBe("udp 192.0.2.2:2")
    })
  )

  it.effect("fails with a reason for sips, tel, unknown names and transports that are off", () =>
    Effect.gen(function* () {
      for (const text of [
        "sips:trunk.example",
        "tel:+4930",
        "sip:unknown.example",
        "sip:trunk.example;transport=sctp"
      ]) {
        const result = yield* Effect.either(found(text, text.includes("sctp") ? names({}, {}) : dns))
        expect([text, result._tag]).toEqual([text, "Left"])
      }
      const off = yield* Effect.flip(found("sip:trunk.example;transport=tcp", dns, ["udp"]))
      expect(off.reason).toContain("a transport that is off")
    })
  )
})
