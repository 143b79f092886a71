import { describe, expect, it } from "@effect/vitest"
import { Either, Schema } from "effect"
import { bindOf, codecsOf, portsOf, Settings, transportsOf } from "../src/Settings.ts"
import { configuredTrunks, numbersOf, trunkOf } from "../src/TrunkSettings.ts"

const decoded = (settings: Readonly<Record<string, string>>) => Schema.decodeUnknownEither(Settings)(settings)

describe("Settings", () => {
  it("takes what the README shows", () => {
    const good = decoded({
      bind: "0.0.0.0:5060",
      transports: "udp,tcp",
      externalAddress: "203.0.113.7",
      rtpPorts: "20000-21999",
      allow: "192.0.2.7, 2001:db8::/32",
      trunkUri: "sip:sip.example.com:5060;transport=tcp",
      trunkUsername: "user",
      trunkPassword: "secret",
      register: "true",
      codecs: "pcmu",
      transfer: "bridge",
      callsPerSource: "5",
      requestsPerSecond: "10",
      mediaTimeoutSeconds: "120"
    })
    expect(Either.isRight(good)).toBe(true)
    expect(Either.isRight(decoded({}))).toBe(true)
  })

  it("refuses what it could not use, each with a rule", () => {
    for (const bad of [
      { bind: "5060" },
      { bind: "trunk.example:5060" },
      { bind: "0.0.0.0:70000" },
      { transports: "udp,ws" },
      { transports: "" },
      { externalAddress: "my.example" },
      { rtpPorts: "20000" },
      { rtpPorts: "30000-20000" },
      { rtpPorts: "80-100" },
      { allow: "192.0.2.0/40" },
      { trunkUri: "sips:trunk.example;transport=udp" },
      { tlsBind: "5061" },
      { tlsCert: "" },
      { trunkUri: "sip:user@trunk.example" },
      { trunkUri: "sip:trunk.example;transport=ws" },
      { register: "maybe" },
      { codecs: "G729" },
      { transfer: "attended" },
      { callsPerSource: "0" },
      { trunkNumbers: "*49" },
      { trunk2Uri: "trunk.example" },
      { trunk9Numbers: "," },
      { trunk3Register: "maybe" },
      { requestsPerSecond: "1.5" },
      { mediaTimeoutSeconds: "0" }
    ]) {
      expect([bad, Either.isLeft(decoded(bad))]).toEqual([bad, true])
    }
  })

  it("reads addresses, ports and lists", () => {
    expect(bindOf("[::]:5070")).toEqual({ address: "::", port: 5070 })
    expect(portsOf("20000 - 21999")).toEqual({ first: 20_000, last: 21_999 })
    expect(codecsOf("PCMU, pcma").map(({ name }) => name)).toEqual(["PCMU", "PCMA"])
    expect(transportsOf("TCP,udp, tls")).toEqual(["tcp", "udp", "tls"])
    expect(trunkOf("sips:trunk.example")).toMatchObject({ scheme: "sips", host: "trunk.example" })
    expect(trunkOf("sip:trunk.example;transport=tls")).toBeDefined()
    expect(trunkOf("sip:[2001:db8::1]:5080")).toMatchObject({ host: "[2001:db8::1]", port: 5080 })
  })

  it("reads further trunks by their number, and leaves out those of which nothing is set", () => {
    const decodedTrunks = Schema.decodeUnknownSync(Settings)({
      trunkUri: "sip:a.example",
      trunkNumbers: "+49 30 12, +49(40)*",
      trunk3Uri: "sip:c.example",
      trunk3Username: "c",
      trunk3Password: "secret",
      trunk3Register: "true"
    })
    expect(configuredTrunks(decodedTrunks)).toMatchObject([
      { variable: "SVC_SIP_TRUNK", uri: "sip:a.example", numbers: ["493012", "4940*"], register: false },
      { variable: "SVC_SIP_TRUNK3", uri: "sip:c.example", username: "c", numbers: [], register: true }
    ])
    expect(numbersOf("*")).toEqual(["*"])
  })

  it("reads register as other settings that are on or off", () => {
    const read = (text: string) => Schema.decodeUnknownSync(Settings)({ register: text }).register
    expect(["true", "yes", "on", "1"].map(read)).toEqual([true, true, true, true])
    expect(["false", "no", "off", "0"].map(read)).toEqual([false, false, false, false])
  })
})
