import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Accounts } from "@svc/auth/Accounts"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { ConfigProvider, Effect, Layer, TestClock } from "effect"
import { OutboundNumbers } from "../src/OutboundNumbers.ts"
import { owner, Test } from "./Fixture.ts"

const settings = (countries: string) =>
  Effect.provide(
    OutboundNumbers.layer.pipe(
      Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["SVC_OUTBOUND_COUNTRIES", countries]]))))
    )
  )

const alone = Layer.mock(NodeLease, { others: Effect.succeed(0) })

layer(Test)("OutboundNumbers", (it) => {
  it.scoped("an organization's countries take the place of SVC_OUTBOUND_COUNTRIES within 2 seconds, and back", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const numbers = yield* OutboundNumbers
      yield* Layer.build(OutboundNumbers.refreshing.pipe(Layer.provide(DueCheck.layer), Layer.provide(alone)))
      const [mine, other] = [(yield* owner).org.id, (yield* owner).org.id]
      const may = (org: number) =>
        ["+31612345678", "+4915112345678"].filter((number) => numbers.refusal(org, number) === null)
      expect(may(mine)).toEqual(["+31612345678"])
      yield* accounts.setOutboundCountries(mine, "DE")
      yield* TestClock.adjust("2 seconds")
      yield* Effect.repeat(accounts.outboundCountries, { until: () => may(mine)[0] === "+4915112345678" })
      expect([may(mine), may(other)]).toEqual([["+4915112345678"], ["+31612345678"]])
      yield* accounts.setOutboundCountries(mine, "all")
      yield* numbers.refresh
      expect(may(mine)).toEqual(["+31612345678", "+4915112345678"])
      expect(numbers.refusal(mine, "+31900123456")).toContain("premium-rate")
      yield* accounts.setOutboundCountries(mine, null)
      yield* numbers.refresh
      expect(may(mine)).toEqual(["+31612345678"])
    }).pipe(settings("NL"))
  )

  it.effect("the due check finds that countries have changed, and not those that were read", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const accounts = yield* Accounts
      const { haveChanged, refresh } = yield* OutboundNumbers
      const changed = Effect.suspend(() => sql<{ readonly changed: boolean }>`select ${haveChanged()} as changed`).pipe(
        Effect.map(([row]) => row?.changed)
      )
      const orgs = [(yield* owner).org.id, (yield* owner).org.id]
      const seen: Array<boolean | undefined> = []
      for (const [org, countries] of [
        [orgs[1], "DE"],
        [orgs[0], "NL,region:\u00e9"],
        [orgs[0], "all"],
        [orgs[1], null]
      ] as const) {
        yield* accounts.setOutboundCountries(org ?? 0, countries)
        seen.push(yield* changed)
        yield* refresh
        seen.push(yield* changed)
      }
      expect(seen).toEqual([true, false, true, false, true, false, true, false])
    })
  )

  it.effect("countries that this version cannot read allow nothing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { org } = yield* owner
      yield* sql`update organizations set outbound_countries = 'region:EU' where id = ${org.id}`
      const numbers = yield* OutboundNumbers
      yield* numbers.refresh
      expect(numbers.refusal(org.id, "+31612345678")).toContain("may not call or text")
    })
  )

  it.effect("a wrong SVC_OUTBOUND_COUNTRIES fails the start with an error that names it", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Effect.asVoid(OutboundNumbers).pipe(settings("NL,XX")))
      expect(String(error)).toContain("SVC_OUTBOUND_COUNTRIES")
      expect(String(error)).toContain("such as NL,BE,GB")
    })
  )
})
