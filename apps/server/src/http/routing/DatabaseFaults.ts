import { SqlError } from "@effect/sql/SqlError"
import { Cause } from "effect"

const codes = /^(?:08|53|57|ECONN|EPIPE|ENOENT|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|EHOSTUNREACH)/
const messages = /^Failed to acquire connection|^Connection error/

/** A field of the error that PostgreSQL or the system gave; empty when there is none. */
const fieldOf = ({ cause }: SqlError, field: "code" | "constraint"): string => {
  if (typeof cause !== "object" || cause === null) return ""
  return String(Object.getOwnPropertyDescriptor(cause, field)?.value ?? "")
}

const sqlErrors = (cause: Cause.Cause<unknown>): ReadonlyArray<SqlError> =>
  [...Cause.defects(cause), ...Cause.failures(cause)].filter((error) => error instanceof SqlError)

/** Whether an error says that the database could not be reached, and not that a statement was wrong. */
const isUnreachable = (error: SqlError): boolean =>
  codes.test(fieldOf(error, "code")) || messages.test(error.message) || /terminated|timeout/i.test(String(error.cause))

/** Whether a failure is caused by a database that is down, starts, stops or is full. */
export const isOutage = (cause: Cause.Cause<unknown>): boolean => sqlErrors(cause).some(isUnreachable)

/**
 * Whether a failure is an insert into a project that was deleted after the request's key had been checked. The triggers
 * of all tables below projects raise it, under this name of a constraint.
 */
export const isDeletedProject = (cause: Cause.Cause<unknown>): boolean =>
  sqlErrors(cause).some((error) => fieldOf(error, "constraint") === "live_project")
