/** What an unknown error says, in one line of at most 300 characters, for an operator. */
export const oneLine = (cause: unknown): string => {
  const text = cause instanceof Error ? cause.message || cause.name : String(cause)
  const line = text.split("\n", 1)[0]?.trim() ?? ""
  return line === "" ? "no reason given" : line.length > 300 ? `${line.slice(0, 297)}...` : line
}
