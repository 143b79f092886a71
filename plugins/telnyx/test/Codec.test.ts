import { expect, it } from "@effect/vitest"
import { codecs, converter } from "../src/Codec.ts"

it("a stream's codec is known by its name in RTP and as a media type, in upper and lower case", () => {
  const [mulaw, alaw] = codecs
  if (mulaw === undefined || alaw === undefined) throw new Error("a codec is missing")
  const silence = { mulaw: Uint8Array.of(0xff), alaw: Uint8Array.of(0xd5) }
  for (const name of ["PCMU", "pcmu", "pcmu/8000", "audio/PCMU", "audio/x-mulaw", "audio/x-mulaw;rate=8000", "mulaw"]) {
    expect(converter(name, mulaw)?.(silence.mulaw), name).toEqual(silence.mulaw)
    expect(converter(name, alaw)?.(silence.mulaw), name).toEqual(silence.alaw)
  }
  for (const name of ["PCMA", "pcma", "audio/PCMA", "audio/x-alaw", "ALAW"]) {
    expect(converter(name, alaw)?.(silence.alaw), name).toEqual(silence.alaw)
    expect(converter(name, mulaw)?.(silence.alaw), name).toEqual(Uint8Array.of(0xfe))
  }
  expect(converter(undefined, mulaw)?.(silence.mulaw)).toEqual(silence.mulaw)
  for (const name of ["G722", "L16", "opus", "", "audio/"]) expect(converter(name, mulaw), name).toBeUndefined()
})
