import { Database } from "@svc/database/Database"
import { Console, Effect } from "effect"

/** `svc migrate`: brings the database's schema up to date, and nothing else. */
export const migrate = (options: { readonly json: boolean }) =>
  Effect.gen(function* () {
    const { called } = yield* Database
    yield* Console.log(
      options.json ? JSON.stringify({ database: called, up_to_date: true }) : `The schema of ${called} is up to date.`
    )
  }).pipe(Effect.provide(Database.layer))
