import { getTypeParser, type TypeFormat } from "pg-types"

/** Object ids of built-in PostgreSQL types. */
const oid = { int8: 20, int8Array: 1016, date: 1082, dateArray: 1182 } as const

/** `text[]`. Typed as a number, because the declarations of pg-types have no array types. */
const textArrayOid: number = 1009

/** Ids and counts are far below 2^53. A larger value stays text, which the row's schema refuses. */
const int8 = (text: string): number | string => {
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : text
}

const textArray = (text: string): ReadonlyArray<string | null> => getTypeParser(textArrayOid)(text)

const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  [oid.int8]: int8,
  [oid.int8Array]: (text) => textArray(text).map((entry) => (entry === null ? null : int8(entry))),
  [oid.date]: (text) => text,
  [oid.dateArray]: textArray
}

/**
 * Type parsers for `pg`: how column values are returned.
 *
 * | column | value |
 * |---|---|
 * | `bigint`, `count(*)`, `sum` of an `integer` | number |
 * | `numeric` (money), `sum` of a `bigint` | exact decimal text: `Schema.NumberFromString`, `Schema.BigDecimal` |
 * | `timestamptz` | Date: `Schema.DateTimeUtcFromDate` |
 * | `date` | text `YYYY-MM-DD`, not a local midnight |
 * | `jsonb` | parsed, keys untouched |
 */
export const columnTypes = {
  getTypeParser: (id: number, format?: TypeFormat): ((text: string) => unknown) =>
    (format === "binary" ? undefined : parsers[id]) ?? getTypeParser(id, format)
}
