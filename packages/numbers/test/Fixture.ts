import * as AgentsSlice from "@svc/agents/AgentsSlice"
import type { ProjectPrincipal, Tier } from "@svc/api/Principal"
import { Accounts } from "@svc/auth/Accounts"
import * as AuthSlice from "@svc/auth/AuthSlice"
import * as BillingSlice from "@svc/billing/BillingSlice"
import { Outbox } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import * as WebhooksSlice from "@svc/webhooks/WebhooksSlice"
import { BigDecimal, Effect, Layer } from "effect"
import * as NumbersSlice from "../src/NumbersSlice.ts"
import { type CarrierDoubles, plugins } from "./CarrierDoubles.ts"

const Dns = Layer.succeed(Resolver, { resolve: (_, done) => done(null, [{ address: "93.184.216.34", family: 4 }]) })

/** Numbers and addresses of one node with these telephony plugins, on the database of the test. */
export const services = (carriers: CarrierDoubles) =>
  NumbersSlice.services.pipe(
    Layer.provideMerge(AgentsSlice.services),
    Layer.provide(Layer.merge(WebhooksSlice.agentWebhooks, UrlSafety.layer)),
    Layer.provideMerge(Layer.merge(AuthSlice.services, Outbox.layerWithoutDeliveries)),
    Layer.provide(Layer.merge(BillingSlice.balance, Dns)),
    Layer.provideMerge(plugins(carriers))
  )

/** The same with a plugin that sells no numbers, on a database of its own. */
export const Test = services({ simulated: undefined }).pipe(Layer.provideMerge(TestDatabase.layer))

/** The owner of a new project with a balance in EUR. */
export const ownerWith = (eur: string, tier: Tier = "payg") =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const balance_eur = BigDecimal.unsafeFromString(eur)
    const org = yield* accounts.createOrganization({ name: "Acme", tier, balance_eur })
    const project = yield* accounts.createProject(org.id, { name: "Default", description: null })
    const principal: ProjectPrincipal = { kind: "project", key_id: 1, scope: "full", org, project }
    return principal
  })

/** The owner of a new project. */
export const owner = ownerWith("0")
