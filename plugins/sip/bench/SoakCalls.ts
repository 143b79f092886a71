import { randomInt } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Host } from "@svc/providers/Host"
import type { CallLeg } from "@svc/providers/Telephony"
import { Effect, Random } from "effect"
import type { Settings } from "../src/Settings.ts"
import { certificate } from "../test/Certificates.ts"

/** What both sides of SipSoak do. */

export const frame = new Uint8Array(160).fill(0x42)

export const quiet: Pick<Host, "log"> = {
  log: { debug: () => {}, info: () => {}, warning: () => {}, error: () => {} }
}

export const chance = (share: number): Effect.Effect<boolean> => Effect.map(Random.next, (value) => value < share)

/** One message of ten is lost. */
export const lossy = (): boolean => randomInt(10) > 0

/** Hangs up, or in some calls leaves it to the other side, for a while. */
export const hangsUp = (leg: CallLeg, share: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (!(yield* chance(share))) yield* Effect.sleep(yield* Random.nextIntBetween(0, 10_000))
    leg.hangup("done")
  })

/** The ports of one side: UDP and TCP, and TLS. */
export interface SoakPorts {
  readonly port: number
  readonly tlsPort: number
}

/** Writes the certificate that both sides have, and trust. */
export const writeCertificate = (folder: string): void => {
  const own = certificate({ names: ["127.0.0.1"] })
  writeFileSync(join(folder, "cert.pem"), own.certificate)
  writeFileSync(join(folder, "key.pem"), own.key)
}

/** The numbers that calls of a side come from: each has a trunk, over UDP, TCP and TLS. */
const callers = ["+12025550100", "+12025550101", "+12025550102"] as const

export const anyCaller: Effect.Effect<string> = Effect.map(
  Random.nextIntBetween(0, callers.length),
  (index) => callers[index] ?? callers[0]
)

/** The settings of a side, whose trunk is the other one over each transport. */
export const settingsOf = (own: SoakPorts, other: SoakPorts, folder: string, rtpPorts: string): Settings => ({
  bind: `127.0.0.1:${own.port}`,
  tlsBind: `127.0.0.1:${own.tlsPort}`,
  tlsCert: join(folder, "cert.pem"),
  tlsKey: join(folder, "key.pem"),
  tlsCa: join(folder, "cert.pem"),
  transports: "udp,tcp,tls",
  trunkUri: `sip:127.0.0.1:${other.port};transport=udp`,
  trunkNumbers: callers[0],
  trunk2Uri: `sip:127.0.0.1:${other.port};transport=tcp`,
  trunk2Numbers: callers[1],
  trunk3Uri: `sip:127.0.0.1:${other.tlsPort};transport=tls`,
  trunk3Numbers: callers[2],
  rtpPorts,
  callsPerSource: 10_000,
  requestsPerSecond: 100_000
})
