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
