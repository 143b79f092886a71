/** The coefficient of a Goertzel filter for a frequency, both in Hz. */
export const goertzelCoefficient = (frequency: number, sampleRate: number): number =>
  2 * Math.cos((2 * Math.PI * frequency) / sampleRate)

/**
 * The power of one frequency in the samples from `from` up to `to`. That of a pure tone of amplitude a over n samples is
 * (a · n / 2)², which is its energy times n / 2.
 */
export const goertzelPower = (pcm: Int16Array, from: number, to: number, coefficient: number): number => {
  let s1 = 0
  let s2 = 0
  for (let i = from; i < to; i++) {
    const s = (pcm[i] ?? 0) + coefficient * s1 - s2
    s2 = s1
    s1 = s
  }
  return s1 * s1 + s2 * s2 - coefficient * s1 * s2
}
