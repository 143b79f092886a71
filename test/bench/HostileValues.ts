/** The number of the hostile agent. */
export const number = "+15550100166"

export const KB = 1024
export const MB = 1024 * KB

/** Repetitions of `one` of about so many bytes, without a comma at the end. */
export const filled = (one: string, bytes: number): string =>
  one.repeat(Math.floor(bytes / one.length)).replace(/,$/, "")

export const list = <A>(length: number, of: (index: number) => A): ReadonlyArray<A> =>
  Array.from({ length }, (_, index) => of(index))

/** An object of so many fields, whose names have at least so many characters. */
export const fields = (length: number, size: number, value: unknown = 0) =>
  Object.fromEntries(list(length, (index) => [`k${index}`.padEnd(size, "y"), value]))
