import { pcmToMulaw } from "@svc/providers/G711"

/** Digits as tones in the audio, because a media stream has no message for them. Frequencies: ITU-T Q.23. */

const rows = [697, 770, 852, 941]
const columns = [1209, 1336, 1477, 1633]
const keypad = "123A456B789C*0#D"

const sampleRate = 8000
/** Milliseconds of a tone and of the pause after it, and of the pause for `w`. ITU-T Q.24 asks for 40 each at least. */
const toneMs = 120
const pauseMs = 80
const waitMs = 500
/** Amplitude of each of the two tones: together 3 dB below full scale at most. */
const amplitude = 8000
/** Silence in mu-law. */
const silence = 0xff

/** The audio of digits (`0-9*#A-D`, and `w` for half a second), as mu-law of 8 kHz. Other characters are left out. */
export const dtmfTones = (digits: string): Uint8Array => {
  const perMs = sampleRate / 1000
  const parts = [...digits].flatMap((digit): ReadonlyArray<Uint8Array> => {
    if (digit === "w") return [new Uint8Array(waitMs * perMs).fill(silence)]
    const place = keypad.indexOf(digit)
    if (place < 0) return []
    const low = rows[Math.floor(place / 4)] ?? 0
    const high = columns[place % 4] ?? 0
    const samples = Int16Array.from({ length: toneMs * perMs }, (_, index) => {
      const at = (2 * Math.PI * index) / sampleRate
      return Math.round(amplitude * (Math.sin(low * at) + Math.sin(high * at)))
    })
    const tone = new Uint8Array((toneMs + pauseMs) * perMs).fill(silence)
    const encoded = Buffer.alloc(samples.length)
    pcmToMulaw(samples, 0, samples.length, encoded, 0)
    tone.set(encoded)
    return [tone]
  })
  return new Uint8Array(Buffer.concat(parts))
}
