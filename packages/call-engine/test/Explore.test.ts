import { SqlClient } from "@effect/sql"
import { layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { CallEngine } from "../src/CallEngine.ts"
import { Base, configuration, Engine, line, phone } from "./Engine.ts"
layer(Layer.provideMerge(Engine, Base), { timeout: "60 seconds", excludeTestServices: true })("a call", (it) => {
  it.scoped("explore", () =>
    Effect.gen(function* () {
      const { number } = yield* line(() => configuration({ otherwise: "Ok {{user}}" }))
      const caller = yield* phone
      caller.send({ event: "dial", to: number, from: "+15550000001" })
      yield* caller.hears(/^Hello\.$/)
      caller.send({ event: "say", text: "Hi" })
      yield* caller.hears(/^Ok Hi$/)
      caller.send({ event: "say", text: "Yo" })
      yield* caller.hears(/^Ok Yo$/)
      yield* Effect.sleep(3000)
      caller.send({ event: "hangup" })
      const engine = yield* CallEngine
      yield* Effect.repeat(engine.live, { until: (n) => n === 0 })
      const sql = yield* SqlClient.SqlClient
      const events = yield* sql<{ event: string; data: any; created_at: Date }>`select event, data, created_at from events order by seq`
      for (const e of events) console.log(e.created_at.toISOString(), e.event, e.data.turn?.content ?? e.data.transcript ?? e.data.text)
      const rows = yield* sql<{input: any, commands: string}>`select input from call_journal order by seq`
      for (const r of rows) console.log(JSON.stringify(r.input).slice(0, 150))
    })
  )
})
