import * as AgentsSlice from "@svc/agents/AgentsSlice"
import type { ProjectPrincipal, Tier } from "@svc/api/Principal"
import { Accounts } from "@svc/auth/Accounts"
import * as AuthSlice from "@svc/auth/AuthSlice"
import * as BillingSlice from "@svc/billing/BillingSlice"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Outbox } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import { CarrierRefused, type CarrierUnavailable, type Numbers, type OwnedNumber } from "@svc/providers/Carrier"
import { Providers } from "@svc/providers/Providers"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import * as WebhooksSlice from "@svc/webhooks/WebhooksSlice"
import { BigDecimal, Effect, Layer, Stream } from "effect"
import * as NumbersSlice from "../../src/NumbersSlice.ts"

type Purchase = ReturnType<Numbers["purchase"]>

/** A carrier that sells every number once, remembers keys, and fails as the test says. */
export class NumbersDouble {
  readonly purchases: Array<Parameters<Numbers["purchase"]>[0]> = []
  readonly releases: Array<Parameters<Numbers["release"]>[0]> = []
  readonly searches: Array<Parameters<Numbers["search"]>[0]> = []
  readonly rented = new Map<string, OwnedNumber>()
  readonly #bought = new Map<string, OwnedNumber>()
  search: Numbers["search"] = () => Effect.succeed([])
  /** What happens when a purchase arrives, and instead of its answer. */
  beforePurchase: () => Effect.Effect<void, CarrierRefused | CarrierUnavailable> = () => Effect.void
  insteadOfAnswer: () => Effect.Effect<void, CarrierRefused | CarrierUnavailable> = () => Effect.void
  onRelease: () => Effect.Effect<void, CarrierUnavailable> = () => Effect.void

  readonly numbers: Numbers = {
    search: (query) =>
      Effect.suspend(() => {
        this.searches.push(query)
        return this.search(query)
      }),
    purchase: (order) =>
      Effect.gen(this, function* () {
        this.purchases.push(order)
        yield* this.beforePurchase()
        const owned = yield* this.#sell(order)
        yield* this.insteadOfAnswer()
        return owned
      }),
    release: (order) =>
      Effect.gen(this, function* () {
        this.releases.push(order)
        yield* this.onRelease()
        this.rented.delete(order.number)
      }),
    owned: Effect.sync(() => [...this.rented.values()])
  }

  #sell({ key, number }: Parameters<Numbers["purchase"]>[0]): Purchase {
    const earlier = this.#bought.get(key)
    if (earlier !== undefined) return Effect.succeed(earlier)
    if (this.rented.has(number)) return Effect.fail(new CarrierRefused({ reason: `${number} is not for sale.` }))
    const owned = { number, carrier_id: `id-${number}` }
    this.#bought.set(key, owned)
    this.rented.set(number, owned)
    return Effect.succeed(owned)
  }
}

const Dns = Layer.succeed(Resolver, { resolve: (_, done) => done(null, [{ address: "93.184.216.34", family: 4 }]) })

/** Telephony plugins without calls, which sell the numbers of these carriers. */
const plugins = (carriers: { readonly [id: string]: NumbersDouble | undefined }) =>
  Layer.succeed(Providers, {
    plugins: [],
    telephony: Object.entries(carriers).map(([id, carrier]) => ({
      id,
      capabilities: {
        formats: [],
        dtmfIn: true,
        dtmfOut: true,
        transfer: "none",
        earlyMedia: false,
        playbackMarks: "exact"
      } as const,
      incoming: Stream.never,
      health: Effect.die("not asked"),
      routes: [],
      ...(carrier === undefined ? {} : { numbers: carrier.numbers })
    })),
    speechToText: [],
    textToSpeech: [],
    languageModel: [],
    voiceActivity: undefined,
    embedding: undefined
  })

/** The services of one node with these carriers, on the database of the test. */
export const node = (carriers: { readonly [id: string]: NumbersDouble | undefined }) =>
  NumbersSlice.carrierServices.pipe(
    Layer.provideMerge(NumbersSlice.services),
    Layer.provideMerge(AgentsSlice.services),
    Layer.provide(Layer.merge(WebhooksSlice.agentWebhooks, UrlSafety.layer)),
    Layer.provideMerge(BillingSlice.services),
    Layer.provideMerge(Layer.mergeAll(AuthSlice.services, Outbox.layerWithoutDeliveries, NodeLease.layer)),
    Layer.provide(Layer.merge(BillingSlice.balance, Dns)),
    Layer.provideMerge(plugins(carriers))
  )

/** The same on a database of its own. */
export const onDatabase = (carriers: { readonly [id: string]: NumbersDouble | undefined }) =>
  node(carriers).pipe(Layer.provideMerge(TestDatabase.layer))

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

let last = 0
/** A US number that no other test uses. */
export const freshNumber = Effect.sync(() => `+1212${String(5_550_000 + last++)}`)
