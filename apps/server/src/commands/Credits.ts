import type { Credits } from "@svc/api/billing/CreditsApi"
import { Organizations } from "@svc/auth/Organizations"
import { Billing } from "@svc/billing/Billing"
import { Console, Effect } from "effect"
import { CommandServices } from "./CommandServices.ts"
import { readEur } from "./Eur.ts"
import { namesWhatIsNotFound } from "./NotFound.ts"

const show = (credits: Credits): string =>
  `${credits.balance_eur} EUR, ${credits.tier}${credits.is_paused ? ", paused" : ""}`

/** `svc credits show <org>` */
export const showCredits = (options: { readonly org: string; readonly json: boolean }) =>
  Effect.gen(function* () {
    const { id } = yield* Effect.flatMap(Organizations, (organizations) => organizations.find(options.org))
    const credits = yield* Effect.flatMap(Billing, (billing) => billing.account(id))
    yield* Console.log(options.json ? JSON.stringify(credits) : show(credits))
  }).pipe(namesWhatIsNotFound({ org: options.org }), Effect.provide(CommandServices))

/** `svc credits add <org> <eur>`: a top-up; it resumes a paused account. */
export const addCredits = (options: { readonly org: string; readonly eur: string; readonly json: boolean }) =>
  Effect.gen(function* () {
    const amount = yield* readEur(options.eur, "<eur>")
    const { id } = yield* Effect.flatMap(Organizations, (organizations) => organizations.find(options.org))
    const credits = yield* Effect.flatMap(Billing, (billing) => billing.add(id, amount))
    yield* Console.log(options.json ? JSON.stringify(credits) : show(credits))
  }).pipe(namesWhatIsNotFound({ org: options.org }), Effect.provide(CommandServices))
