import { codecsIn } from "./CodecNames.ts"
import type { Obstacle } from "./Obstacle.ts"

/** Text of the peer that fits into a quoted string. */
const quotable = (text: string): string =>
  text
    .replace(/[^\x20-\x7e]/g, "?")
    .replace(/["\\]/g, "'")
    .slice(0, 100)

const codeAndText = (obstacle: Obstacle): readonly [number, string] => {
  switch (obstacle._tag) {
    case "NoAudio":
      return [304, "Media type not available: there is no audio"]
    case "NoPort":
      return [304, "Media type not available: the audio has port 0"]
    case "Profile":
    case "EncryptionOff":
      return [302, `Incompatible transport protocol: ${obstacle.protocol}`]
    case "EncryptionRequired":
      return [302, `Incompatible transport protocol: ${obstacle.protocol} without a=crypto`]
    case "Keys":
      return [306, `Attribute not understood: a=crypto has ${obstacle.fault ?? "no key"}`]
    case "NoAddress":
      return [399, "The audio has no address: c= is missing"]
    case "HostName":
      return [301, "Incompatible network address formats: c= has a host name"]
    case "Family":
      return [301, "Incompatible network address formats"]
    case "Codecs":
      return [305, `Incompatible media format: ${codecsIn(obstacle.section)}`]
    case "Malformed":
      return [399, "Malformed session description"]
  }
}

/** The value of Warning in a 488 (RFC 3261, 20.43). It names nothing but what the peer's own description has, or lacks. */
export const warningOf = (obstacle: Obstacle): string => {
  const [code, text] = codeAndText(obstacle)
  return `${code} svc "${quotable(text)}"`
}
