import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"
import { isIP } from "node:net"

/** A value in DER (X.690): its tag, and its contents, which are joined. */
const der = (tag: number, ...contents: ReadonlyArray<Uint8Array>): Buffer => {
  const body = Buffer.concat(contents)
  const { length } = body
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), body])
}

const sequence = (...contents: ReadonlyArray<Uint8Array>): Buffer => der(0x30, ...contents)

const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"))

const oids = {
  commonName: oid("550403"),
  basicConstraints: oid("551d13"),
  subjectAltName: oid("551d11"),
  ecdsaWithSha256: oid("2a8648ce3d040302")
}

const nameOf = (text: string): Buffer => sequence(der(0x31, sequence(oids.commonName, der(0x0c, Buffer.from(text)))))

/** `YYYYMMDDHHMMSSZ`. */
const timeOf = (ms: number): Buffer =>
  der(0x18, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, "").slice(0, 14)}Z`))

const addressBytes = (address: string): Buffer =>
  address === "::1"
    ? Buffer.from("00000000000000000000000000000001", "hex")
    : Buffer.from(address.split(".").map(Number))

const alternative = (name: string): Buffer => {
  if (name.startsWith("sip:")) return der(0x86, Buffer.from(name))
  return isIP(name) === 0 ? der(0x82, Buffer.from(name)) : der(0x87, addressBytes(name))
}

/** A certificate and its key in PEM. */
export interface Certificate {
  readonly certificate: string
  readonly key: string
  readonly issuer: { readonly name: string; readonly key: KeyObject }
}

const day = 24 * 3600 * 1000

/**
 * Makes a certificate with a new key. `names`: host names, IP addresses and `sip:` URIs; `days`: its validity, counted from
 * now; `issuer`: another certificate that signs it, else it signs itself and is an authority.
 */
export const certificate = (given: {
  readonly names: ReadonlyArray<string>
  readonly days?: readonly [from: number, to: number]
  readonly issuer?: Certificate
}): Certificate => {
  const { days = [-1, 30], issuer, names } = given
  const [name = ""] = names
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const signer = issuer?.issuer ?? { name, key: privateKey }
  const now = Date.now()
  const extensions = [
    sequence(
      oids.basicConstraints,
      der(0x01, Buffer.from([0xff])),
      der(0x04, issuer === undefined ? sequence(der(0x01, Buffer.from([0xff]))) : sequence())
    ),
    sequence(oids.subjectAltName, der(0x04, sequence(...names.map(alternative))))
  ]
  const signed = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    sequence(oids.ecdsaWithSha256),
    nameOf(signer.name),
    sequence(timeOf(now + days[0] * day), timeOf(now + days[1] * day)),
    nameOf(name),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(...extensions))
  )
  const signature = sign("sha256", signed, signer.key)
  const bytes = sequence(signed, sequence(oids.ecdsaWithSha256), der(0x03, Buffer.from([0]), signature))
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? []
  return {
    certificate: ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n"),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    issuer: { name, key: privateKey }
  }
}
