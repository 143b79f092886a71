import { Schema } from "effect"

/**
 * Whether a text is a day of the calendar. `Date.parse` reads 30 February as 2 March and returns NaN for month 13; the
 * database has no year 0.
 */
export const isDay = (text: string): boolean => {
  const time = /^(?!0000)\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

/** A UTC day in a query, `YYYY-MM-DD`. */
export const Day = (field: string) =>
  Schema.String.pipe(Schema.filter(isDay, { message: () => `${field} must be a date, YYYY-MM-DD` })).annotations({
    jsonSchema: { type: "string", format: "date" }
  })
