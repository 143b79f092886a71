import { TestDatabase } from "@svc/database/TestDatabase"
import { BigDecimal, Effect, Layer, Option } from "effect"
import { Accounts } from "../src/Accounts.ts"
import { AccountsRepo } from "../src/AccountsRepo.ts"
import * as AuthSlice from "../src/AuthSlice.ts"
import { Balance } from "../src/Balance.ts"

/** A balance that stays at the opening balance. */
const OpeningBalance = Layer.effect(
  Balance,
  Effect.map(AccountsRepo, (repo) => ({
    of: (orgId) =>
      Effect.map(
        repo.findOrganization(String(orgId)),
        Option.match({ onNone: () => BigDecimal.fromBigInt(0n), onSome: (org) => org.balance_eur })
      )
  }))
)

/** The account services of one node on a given database. */
export const Services = AuthSlice.services.pipe(Layer.provide(OpeningBalance.pipe(Layer.provide(AccountsRepo.layer))))

/** The same on a new database. */
export const Test = Layer.provideMerge(Services, TestDatabase.layer)

/** A new organization with a project. */
export const account = Effect.gen(function* () {
  const accounts = yield* Accounts
  const org = yield* accounts.createOrganization({
    name: "Acme",
    tier: "growth",
    balance_eur: BigDecimal.fromBigInt(5n)
  })
  const project = yield* accounts.createProject(org.id, { name: "Default", description: null })
  return { org, project }
})
