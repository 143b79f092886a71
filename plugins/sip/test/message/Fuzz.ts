import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as fc from "fast-check"
import { codecs } from "../../src/Codec.ts"
import { Framer } from "../../src/message/Framer.ts"
import * as Parser from "../../src/message/Parser.ts"
import { refusalOf } from "../../src/message/RequestCheck.ts"
import { serialize } from "../../src/message/Serializer.ts"
import * as Description from "../../src/sdp/Description.ts"
import { MediaKeys } from "../../src/sdp/MediaKeys.ts"
import * as Negotiation from "../../src/sdp/Negotiation.ts"
import { mutated } from "./Mutation.ts"

/**
 * Feeds changed messages to the parsers of SIP and SDP for some minutes (the first argument, 10 by default), and ends with
 * 1 when one throws, takes long, or gives what it would not read again. A finding is printed as base64: keep it as a case in
 * `Parser.test.ts`.
 */

const minutes = Number(process.argv[2] ?? 10)

/** Milliseconds that one message may take. */
const most = 250

const folder = fileURLToPath(new URL("rfc4475/", import.meta.url))
const messages = readdirSync(folder).flatMap((file) => (file.endsWith(".dat") ? [readFileSync(folder + file)] : []))
/** With keys of SRTP, which those of the RFC have not. */
const encrypted = Buffer.from(
  [
    "v=0",
    "o=- 1 1 IN IP4 192.0.2.1",
    "s=-",
    "c=IN IP4 192.0.2.1",
    "t=0 0",
    "m=audio 4000 RTP/SAVP 8 13 101",
    "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz|2^20 WSH=64",
    "a=crypto:2 AES_CM_128_HMAC_SHA1_32 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGV0",
    ""
  ].join("\r\n")
)
const descriptions = [
  encrypted,
  ...messages.flatMap((bytes) => {
    const start = bytes.indexOf("v=0\r\n")
    return start < 0 ? [] : [bytes.subarray(start)]
  })
]

const local: Negotiation.Local = {
  address: "192.0.2.1",
  port: 20_000,
  sessionId: "1",
  version: 1,
  codecs: [codecs.PCMA, codecs.PCMU],
  direction: "sendrecv"
}

const parsesMessages = (bytes: Uint8Array): void => {
  const parsed = Parser.parse(bytes)
  new Framer().push(bytes)
  if (parsed._tag !== "Message") return
  if (parsed.message._tag === "Request") refusalOf(parsed.message)
  const again = Parser.parse(serialize(parsed.message))
  if (again._tag !== "Message") throw new Error(`what was written is not read again: ${again.reason}`)
}

const parsesDescriptions = (bytes: Uint8Array): void => {
  const peer = Description.parse(bytes)
  for (const encryption of ["off", "optional", "required"] as const) {
    const agreed = peer === undefined ? undefined : Negotiation.agree(peer, { ...local, encryption })
    if (peer === undefined || agreed === undefined) continue
    const keys = new MediaKeys(encryption)
    if ((keys.answered(agreed) === undefined) !== (agreed.srtp === undefined)) throw new Error("keys without SRTP")
    const crypto = keys.line === undefined ? [] : [keys.line]
    const answer = Description.parse(Negotiation.answer(peer, agreed, { ...local, crypto }))
    if (answer === undefined) throw new Error("our answer is no description")
    if (answer.sections[agreed.section]?.crypto.length !== crypto.length) throw new Error("our key is not read again")
  }
}

const timed = (name: string, run: (bytes: Uint8Array) => void) => (bytes: Uint8Array) => {
  const before = performance.now()
  const fail = (reason: string): never => {
    throw new Error(`${name}: ${reason}\n${Buffer.from(bytes).toString("base64")}`)
  }
  try {
    run(bytes)
  } catch (error) {
    fail(String(error))
  }
  // The machine may have been busy: only what is slow again is.
  for (let tries = 0, took = performance.now() - before; took > most; tries++) {
    if (tries === 3) fail(`it took ${Math.round(took)} ms`)
    const again = performance.now()
    run(bytes)
    took = performance.now() - again
  }
}

const until = performance.now() + minutes * 60_000
const numRuns = 5000
let count = 0
try {
  for (let seed = Number(process.argv[3] ?? performance.timeOrigin); performance.now() < until; seed++) {
    const options = { numRuns, seed: Math.floor(seed) % 2 ** 31, endOnFailure: true }
    fc.assert(fc.property(mutated(messages), timed("message", parsesMessages)), options)
    fc.assert(fc.property(mutated(descriptions), timed("description", parsesDescriptions)), options)
    count += 2 * numRuns
  }
  console.log(`${count} messages and descriptions in ${minutes} minutes, nothing found`)
} catch (error) {
  console.error(error instanceof Error ? (error.cause ?? error) : error)
  console.error(`found after ${count} messages and descriptions`)
  process.exitCode = 1
}
