/** The message of an unknown error as one line of at most 300 characters. */
export const errorSummary = (cause: unknown): string => {
  const text = cause instanceof Error ? cause.message || cause.name : String(cause)
  const line = text.split("\n", 1)[0]?.trim() ?? ""
  return line === "" ? "no reason given" : line.length > 300 ? `${line.slice(0, 297)}...` : line
}
