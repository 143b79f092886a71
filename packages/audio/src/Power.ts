/** The mean square of samples, or 0 if there are none. */
export const powerOf = (frame: Int16Array): number => {
  const length = frame.length
  // Four sums at once, each of whole numbers and so exact, do not wait for one another.
  let one = 0
  let two = 0
  let three = 0
  let four = 0
  let i = 0
  for (; i + 3 < length; i += 4) {
    const a = frame[i] as number
    const b = frame[i + 1] as number
    const c = frame[i + 2] as number
    const d = frame[i + 3] as number
    one += a * a
    two += b * b
    three += c * c
    four += d * d
  }
  for (; i < length; i++) one += (frame[i] as number) ** 2
  return length === 0 ? 0 : (one + two + three + four) / length
}
