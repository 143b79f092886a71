import { createHash, randomBytes } from "node:crypto"
import { Effect } from "effect"
import type { SipPhone } from "./SipPhone.ts"
import { headerOf, type SipText, statusOf } from "./SipText.ts"

const md5 = (text: string): string => createHash("md5").update(text).digest("hex")

/** A parameter of a challenge (RFC 7616, 3.3). */
const parameterOf = (challenge: string, name: string): string =>
  new RegExp(`\\b${name}="?([^",]+)"?`, "i").exec(challenge)?.[1] ?? ""

/** The Authorization for a REGISTER with this challenge, by MD5 with `qop=auth` (RFC 7616, 3.4). */
const authorization = (challenge: string, uri: string, name: string, password: string): string => {
  const [realm, nonce, opaque] = ["realm", "nonce", "opaque"].map((each) => parameterOf(challenge, each))
  const cnonce = randomBytes(8).toString("hex")
  const response = md5(
    `${md5(`${name}:${realm}:${password}`)}:${nonce}:00000001:${cnonce}:auth:${md5(`REGISTER:${uri}`)}`
  )
  const quoted = { username: name, realm, nonce, uri, response, cnonce, ...(opaque === "" ? {} : { opaque }) }
  const fields = Object.entries(quoted).map(([field, value]) => `${field}="${value}"`)
  return `Digest ${[...fields, "algorithm=MD5", "qop=auth", "nc=00000001"].join(", ")}`
}

/** Registers a phone at the server's SIP port with a name and password. Returns the status of the answer. */
export const register = (phone: SipPhone, port: number, name: string, password: string): Effect.Effect<number> =>
  Effect.gen(function* () {
    const uri = `sip:127.0.0.1:${port}`
    const callId = randomBytes(8).toString("hex")
    const ask = (sequence: number, more: SipText["headers"] = []) =>
      Effect.async<SipText>((resume) => {
        phone.onStray = (message) => {
          if ((statusOf(message) ?? 0) >= 200 && headerOf(message, "call-id") === callId)
            resume(Effect.succeed(message))
        }
        phone.send({
          start: `REGISTER ${uri} SIP/2.0`,
          headers: [
            ["via", phone.via()],
            ["from", `<sip:${name}@127.0.0.1>;tag=${callId}`],
            ["to", `<sip:${name}@127.0.0.1>`],
            ["call-id", callId],
            ["cseq", `${sequence} REGISTER`],
            ["contact", phone.contact],
            ["max-forwards", "70"],
            ["expires", "600"],
            ...more
          ],
          body: ""
        })
      })
    const challenged = yield* ask(1)
    const challenge = headerOf(challenged, "www-authenticate")
    const answer = yield* ask(2, [["authorization", authorization(challenge, uri, name, password)]])
    return statusOf(answer) ?? 0
  }).pipe(Effect.timeout("30 seconds"), Effect.orDie)
