/** Loudness below which a sample at the end is silence. */
const silence = 64

/** How many samples there are without the silence at the end, added up from chunks. */
export class SpeechLength {
  #written = 0
  #spoken = 0

  add(samples: Int16Array): void {
    for (let i = samples.length - 1; i >= 0; i--) {
      if (Math.abs(samples[i] ?? 0) < silence) continue
      this.#spoken = this.#written + i + 1
      break
    }
    this.#written += samples.length
  }

  get spoken(): number {
    return this.#spoken
  }
}

/** A word with the spaces after it. */
const words = /\S+\s*/gu

/** How long a word takes compared to a letter: a digit is a word, and punctuation a pause. */
const weightOf = (word: string): number => {
  const digits = word.match(/\p{N}/gu)?.length ?? 0
  const letters = word.match(/\p{L}/gu)?.length ?? 0
  const pause = /[.!?…]\s/u.test(word) ? 6 : /[,;:]\s/u.test(word) ? 4 : 0
  return 1 + letters + 4 * digits + pause
}

/**
 * When each word of a text has been spoken, estimated from the length of its speech: the command line of the program does
 * not say it. `characters` are UTF-16 units of the text from its beginning.
 */
export const wordTimes = (
  text: string,
  spokenSamples: number
): ReadonlyArray<{ readonly characters: number; readonly atSample: number }> => {
  const found = [...text.matchAll(words)].map((match) => ({
    characters: match.index + match[0].length,
    weight: weightOf(match[0])
  }))
  const total = found.reduce((sum, { weight }) => sum + weight, 0)
  let passed = 0
  return found.map(({ characters, weight }) => {
    passed += weight
    return { characters, atSample: Math.round((spokenSamples * passed) / total) }
  })
}
