/** The mean square of samples, or 0 if there are none. */
export const powerOf = (frame: Int16Array): number => {
  let energy = 0
  for (let i = 0; i < frame.length; i++) energy += (frame[i] ?? 0) ** 2
  return frame.length === 0 ? 0 : energy / frame.length
}
