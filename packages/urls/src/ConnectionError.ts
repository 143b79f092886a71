/**
 * The reason of a failed connection in one line of at most `limit` characters. Node reports a failure of all addresses of
 * a host as one error with an empty message.
 */
export const connectionReason = (error: Error, limit: number): string => {
  const first = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error
  const text = first.message === "" ? first.name : first.message
  return text.replace(/[\p{Cc}\p{Surrogate}]+/gu, " ").slice(0, limit)
}
