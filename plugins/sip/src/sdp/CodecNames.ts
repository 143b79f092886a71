import type { Section } from "./Description.ts"

/** Payload types without `a=rtpmap` that phones offer beside ours (RFC 3551, table 4). */
const names: ReadonlyMap<string, string> = new Map([
  ["0", "PCMU"],
  ["3", "GSM"],
  ["4", "G723"],
  ["8", "PCMA"],
  ["9", "G722"],
  ["18", "G729"]
])

/** The codecs of a section, for people: `G729, OPUS`. */
export const codecsIn = ({ codecs, formats }: Section): string => {
  const known = new Map(codecs.map(({ name, payloadType }) => [String(payloadType), name]))
  const all = formats.split(/\s+/).flatMap((each) => known.get(each) ?? names.get(each) ?? (each === "" ? [] : each))
  const audio = all.filter((name) => name !== "TELEPHONE-EVENT" && name !== "CN").slice(0, 20)
  return audio.length === 0 ? "no codec" : audio.join(", ")
}
