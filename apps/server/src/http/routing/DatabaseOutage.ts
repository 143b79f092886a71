import { SqlError } from "@effect/sql/SqlError"
import { Cause } from "effect"

const codes = /^(?:08|53|57|ECONN|EPIPE|ENOENT|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|EHOSTUNREACH)/
const messages = /^Failed to acquire connection|^Connection error/

/** Whether an error says that the database could not be reached, and not that a statement was wrong. */
const isUnreachable = (error: unknown): boolean => {
  if (!(error instanceof SqlError)) return false
  const { cause } = error
  const code = typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""
  return codes.test(code) || messages.test(error.message) || /terminated|timeout/i.test(String(cause))
}

/** Whether a failure is caused by a database that is down, starts, stops or is full. */
export const isOutage = (cause: Cause.Cause<unknown>): boolean =>
  [...Cause.defects(cause), ...Cause.failures(cause)].some(isUnreachable)
