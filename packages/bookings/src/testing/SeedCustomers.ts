import { SqlClient, type SqlError } from "@effect/sql"
import { newBookingCustomerId } from "@svc/api/Ids"
import { Chunk, Effect, Stream, Struct } from "effect"
import { blank } from "../CustomerDetails.ts"
import { searchColumns } from "../CustomerSearch.ts"

const firstNames =
  "Anna Bram Cees Daan Emma Femke Gijs Hanna Iris Jan Julia Karin Lars Lotte Maria Niels Olga Peter Quinten Roos Sanne Tess Ulf Vera Wim Xander Yara Zoë Mohammed Fatima Ahmed Sofia Luca Elena Mateo Inès".split(
    " "
  )
const lastNames =
  "Jansen Bakker Visser Smit Meijer Mulder Bos Vos Peters Hendriks Dekker Brouwer Dijkstra Postma Kuipers Vermeulen Schouten Willems Hoekstra Koster Prins Blom Huisman Post Kok Schipper Verbeek Haan Jonker Zwart Koning Kramer Maas Evers Mol Timmermans Wouters Gerritsen Molenaar Sanders".split(
    " "
  )

const pick = (names: ReadonlyArray<string>, n: number): string => names[n % names.length] ?? ""

/** The n-th customer: names repeat, email address and phone number are unique. */
const draft = (n: number) => {
  const name = `${pick(firstNames, n * 7919)} ${pick(lastNames, Math.floor(n / 7))}`
  const number = (n * 48_271) % 100_000_000
  return {
    name,
    email: `${name.replace(" ", ".")}${n}@example.com`,
    phone: `+316${String(number).padStart(8, "0")}`
  }
}

/** The details that all of these customers have in common. */
const common = Struct.omit(blank, "name", "email", "phone")

/** Rows of one statement. */
const batch = 5000

/**
 * Writes customers of an organization, for tests and benchmarks of reads, and analyzes the table. Every twentieth is in
 * the recycle bin. A million takes about two minutes.
 */
export const seedCustomers = (
  orgId: number,
  count: number
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* Stream.range(1, count).pipe(
      Stream.mapEffect((n) =>
        Effect.map(newBookingCustomerId, (id) => {
          const customer = draft(n)
          return { id, n, ...customer, ...searchColumns(customer) }
        })
      ),
      Stream.rechunk(batch),
      Stream.runForEachChunk((chunk) => {
        const rows = Chunk.toReadonlyArray(chunk)
        return sql`
          insert into booking_customers (
            public_id, org_id, name, email, phone, ${sql.literal(Object.keys(common).join(", "))},
            search, search_codes, deleted_at
          )
          select id, ${orgId}, name, email, phone, ${sql.csv(Object.values(common).map((value) => sql`${value}`))},
            search, search_codes, case when n % 20 = 0 then now() end
          from unnest(
            ${rows.map(({ id }) => id)}::text[], ${rows.map(({ n }) => n)}::bigint[],
            ${rows.map(({ name }) => name)}::text[], ${rows.map(({ email }) => email)}::text[],
            ${rows.map(({ phone }) => phone)}::text[], ${rows.map(({ search }) => search)}::text[],
            ${rows.map(({ search_codes }) => search_codes)}::text[]
          ) as draft (id, n, name, email, phone, search, search_codes)`
      })
    )
    yield* sql`vacuum analyze booking_customers`
  })
