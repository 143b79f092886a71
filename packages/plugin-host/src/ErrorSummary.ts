const textOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  if (cause.message !== "") return String(cause.message)
  // Typed errors without a message have a reason.
  return "reason" in cause && typeof cause.reason === "string" ? cause.reason : String(cause.name)
}

/** The message of an unknown error as one line of at most 300 characters. Never throws. */
export const errorSummary = (cause: unknown): string => {
  try {
    const line = textOf(cause).split("\n", 1)[0]?.trim() ?? ""
    return line === "" ? "no reason given" : line.length > 300 ? `${line.slice(0, 297)}...` : line
  } catch {
    // Its getters throw, or it is an object that has no text.
    return "an error that cannot be read"
  }
}

/** The longest stack that is kept, in characters, and how many errors of a chain of causes. */
const maxStack = 10_000
const maxCauses = 5

/**
 * A plain error with the message, stack and causes of what a plugin threw, for the log: what the plugin threw may have
 * getters that throw, or an endless stack. Never throws.
 */
export const plainError = (cause: unknown, depth = 1): Error => {
  const plain = new Error(errorSummary(cause))
  try {
    if (!(cause instanceof Error)) return plain
    if (typeof cause.stack === "string") plain.stack = cause.stack.slice(0, maxStack)
    if (cause.cause !== undefined && depth < maxCauses) plain.cause = plainError(cause.cause, depth + 1)
  } catch {
    // A getter of a hostile error: what was read before it is kept.
  }
  return plain
}
