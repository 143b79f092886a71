import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect, Layer, Option } from "effect"
import { DebugRepo } from "../../src/record/DebugRepo.ts"

/** A call that started `days` ago; its token is its id. */
const newCall = (publicId: string, days: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<{ readonly id: number }>`
        insert into calls (public_id, org_id, project_id, telephony, status, started_at, debug_token)
        values (${publicId}, 1, 7, 'simulated', 'ringing', now() - make_interval(days => ${days}::int), ${publicId})
        returning id`,
      (rows) => rows[0]?.id ?? 0
    )
  )

layer(Layer.provideMerge(DebugRepo.layer, TestDatabase.layer), { excludeTestServices: true })("debug tokens", (it) => {
  it.effect("find a call and are found for as long as recordings are kept", () =>
    Effect.gen(function* () {
      const repo = yield* DebugRepo
      const old = `call_${"4".repeat(24)}`
      const id = yield* newCall(old, 3)
      expect(yield* repo.callOf(old, 4)).toEqual(Option.some({ id, public_id: old, project_id: 7 }))
      expect(yield* repo.tokenOf(old, 4)).toEqual(Option.some(old))
      expect(yield* repo.callOf(old, 3)).toEqual(Option.none())
      expect(yield* repo.tokenOf(old, 3)).toEqual(Option.none())
    })
  )
})
