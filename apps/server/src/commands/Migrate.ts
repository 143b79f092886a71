import { Database } from "@svc/database/Database"
import { Console, Effect } from "effect"

/** `svc migrate`: brings the database's schema up to date, and nothing else. */
export const migrate = (options: { readonly json: boolean }) =>
  Effect.gen(function* () {
    const { displayName } = yield* Database
    yield* Console.log(
      options.json
        ? JSON.stringify({ database: displayName, up_to_date: true })
        : `The schema of ${displayName} is up to date.`
    )
  }).pipe(Effect.provide(Database.layer))
