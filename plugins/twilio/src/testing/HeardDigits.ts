import { mulawToPcm } from "@svc/providers/G711"

/** The digits in the sound of a phone, as its network detects them. */

const rows = [697, 770, 852, 941]
const columns = [1209, 1336, 1477, 1633]
const keypad = "123A456B789C*0#D"
/** Samples of one measurement: 20 ms. */
const window = 160

/** The energy of a frequency (Goertzel's algorithm). */
const energyOf = (samples: Int16Array, frequency: number): number => {
  const factor = 2 * Math.cos((2 * Math.PI * frequency) / 8000)
  let [before, last] = [0, 0]
  for (const sample of samples) [before, last] = [last, sample + factor * last - before]
  return last * last + before * before - factor * last * before
}

const loudest = (samples: Int16Array, frequencies: ReadonlyArray<number>): number => {
  const energies = frequencies.map((frequency) => energyOf(samples, frequency))
  const most = Math.max(...energies)
  const total = samples.reduce((sum, sample) => sum + sample * sample, 0)
  return most > total * window * 0.15 && total > 1e8 ? energies.indexOf(most) : -1
}

/** The digits in mu-law of 8 kHz. */
export const heardDigits = (audio: Uint8Array): string => {
  let digits = ""
  let last = ""
  for (let from = 0; from + window <= audio.length; from += window) {
    const samples = new Int16Array(window)
    mulawToPcm(audio, from, window, samples, 0)
    const [row, column] = [loudest(samples, rows), loudest(samples, columns)]
    const digit = row < 0 || column < 0 ? "" : (keypad[4 * row + column] ?? "")
    if (digit !== last) digits += digit
    last = digit
  }
  return digits
}
