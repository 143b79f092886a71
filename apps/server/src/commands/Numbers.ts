import * as AgentsSlice from "@svc/agents/AgentsSlice"
import { toNumber } from "@svc/api/Money"
import type { NumberSearchQuery } from "@svc/api/numbers/NumberSearch"
import type { PhoneNumberInUse, PurchaseFailed } from "@svc/api/numbers/PhoneNumber"
import type { InsufficientCredits, Unavailable, ValidationError } from "@svc/api/VoiceError"
import { Organizations } from "@svc/auth/Organizations"
import { Projects } from "@svc/auth/Projects"
import { Rates } from "@svc/billing/Rates"
import { NodeLease } from "@svc/cluster/NodeLease"
import { NumberOrders } from "@svc/numbers/carrier/NumberOrders"
import { NumberSearch } from "@svc/numbers/carrier/NumberSearch"
import * as NumbersSlice from "@svc/numbers/NumbersSlice"
import { PhoneNumbers, type RentedNumber } from "@svc/numbers/PhoneNumbers"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import * as WebhooksSlice from "@svc/webhooks/WebhooksSlice"
import { Console, Data, Effect, Layer, Option } from "effect"
import { commandPlugins } from "../PluginHosting.ts"
import { CommandServices } from "./CommandServices.ts"
import { confirm } from "./Confirmation.ts"
import { namesWhatIsNotFound } from "./NotFound.ts"
import { table } from "./Table.ts"

/** What is wrong with a command on numbers, and what to do. */
export class NumbersFailed extends Data.TaggedError("NumbersFailed")<{ readonly message: string }> {}

/** Numbers of projects, with the loaded plugins. */
const NumberServices = NumbersSlice.services.pipe(
  Layer.provideMerge(AgentsSlice.services),
  Layer.provide(
    Layer.mergeAll(
      WebhooksSlice.agentWebhooks,
      WebhooksSlice.outbox,
      UrlSafety.layer.pipe(Layer.provide(Resolver.layer))
    )
  ),
  Layer.provideMerge(Layer.merge(CommandServices, commandPlugins()))
)

const SearchServices = NumberSearch.layer.pipe(Layer.provideMerge(NumberServices))

/** With a lease of its own: when this process dies, a server goes on with its orders. */
const OrderServices = NumbersSlice.carrierServices.pipe(
  Layer.provideMerge(NodeLease.layer),
  Layer.provideMerge(NumberServices)
)

/** Whose numbers a command is about, by public or numeric ids. */
interface OwnerIds {
  readonly org: string
  /** May be left out when the organization has one project. */
  readonly project: Option.Option<string>
}

const ownerOf = (ids: OwnerIds) =>
  namesWhatIsNotFound({ org: ids.org, project: Option.getOrUndefined(ids.project) })(findOwner(ids))

const findOwner = Effect.fnUntraced(function* (ids: OwnerIds) {
  const organizations = yield* Organizations
  const projects = yield* Projects
  const org = yield* organizations.find(ids.org)
  if (Option.isSome(ids.project)) return { org, project: yield* projects.get(org.id, ids.project.value) }
  const [project, another] = yield* projects.list(org.id, { limit: 2, offset: 0 })
  if (project === undefined) {
    return yield* new NumbersFailed({ message: `${org.public_id} has no project: make one with POST /v1/projects` })
  }
  if (another !== undefined) {
    return yield* new NumbersFailed({
      message: `${org.public_id} has several projects: say with --project which one, by public or numeric id`
    })
  }
  return { org, project }
})

/** An active number of the owner, by itself or by its id. */
const numberOf = Effect.fnUntraced(function* (ids: OwnerIds, text: string) {
  const owner = yield* ownerOf(ids)
  const numbers = yield* Effect.flatMap(PhoneNumbers, (service) => service.rents(owner.project))
  const found = numbers.find(({ id, number }) => number === text || String(id) === text)
  if (found !== undefined) return { owner, number: found }
  return yield* new NumbersFailed({
    message: `${text} is not an active number, or the id of one, of project ${owner.project.public_id}: see svc numbers list`
  })
})

const eurPerMonth = (price: number): string => `${price} EUR per month`

const row = (number: RentedNumber) => ({
  id: number.id,
  number: number.number,
  type: number.type,
  country: number.country,
  agent: number.agent_id,
  eur_per_month: number.monthly_cost_eur,
  telephony: number.telephony,
  next_rent: number.next_rent_at?.slice(0, 10) ?? null
})

/** `svc numbers list --org <id> [--project <id>]` */
export const list = (options: OwnerIds & { readonly json: boolean }) =>
  Effect.gen(function* () {
    const { project } = yield* ownerOf(options)
    const phone_numbers = yield* Effect.flatMap(PhoneNumbers, (numbers) => numbers.rents(project))
    yield* Console.log(options.json ? JSON.stringify({ phone_numbers }) : table(phone_numbers.map(row)))
  }).pipe(Effect.provide(NumberServices))

/** `svc numbers search <country> --org <id> …`: the price is that of the organization's tier. */
export const search = (options: { readonly org: string; readonly query: NumberSearchQuery; readonly json: boolean }) =>
  Effect.gen(function* () {
    const { tier } = yield* Effect.flatMap(Organizations, (organizations) => organizations.find(options.org))
    const phone_numbers = yield* Effect.flatMap(NumberSearch, (numbers) => numbers.search(tier, options.query))
    yield* Console.log(
      options.json
        ? JSON.stringify({ phone_numbers })
        : table(
            phone_numbers.map(({ area, country, monthly_cost_eur, number, type }) => ({
              number,
              type,
              country,
              area,
              eur_per_month: monthly_cost_eur
            }))
          )
    )
  }).pipe(Effect.provide(SearchServices))

type PurchaseError = ValidationError | PhoneNumberInUse | InsufficientCredits | PurchaseFailed | Unavailable

/** The API's errors for somebody at a terminal. */
const inWords = (
  error: PurchaseError,
  { balance, number, org, price }: { number: string; balance: number; price: number; org: string }
): string => {
  switch (error._tag) {
    case "InsufficientCredits":
      return (
        `the credits of ${org} (${balance} EUR, less what calls and other orders hold) do not cover ${price} EUR ` +
        `for the first month of ${number}: add some with svc credits add ${org} <eur>`
      )
    case "PhoneNumberInUse":
      return `${number} is active in this installation already, or is being bought or released: see svc numbers list, or try later`
    case "PurchaseFailed":
      return `the carrier refused the purchase of ${number}: ${error.message}`
    case "ValidationError": {
      const { address_id, agent_id } = error.details ?? {}
      if (agent_id !== undefined) return "--agent must be the id of an agent of this project"
      if (address_id === undefined) return `${number}: ${error.message}`
      return (
        `${number} needs an address: ${address_id.replace("address_id", "--address")}. ` +
        "Make one with POST /v1/addresses, and give its id with --address"
      )
    }
    case "Unavailable":
      return error.message
  }
}

/** `svc numbers buy <number> …`: asks before it buys. */
export const buy = (
  options: OwnerIds & {
    readonly number: string
    readonly agent: Option.Option<string>
    readonly address: Option.Option<number>
    readonly yes: boolean
    readonly json: boolean
  }
) =>
  Effect.gen(function* () {
    const { number } = options
    const { org, project } = yield* ownerOf(options)
    const price = toNumber((yield* Rates).number(org.tier))
    yield* confirm({
      yes: options.yes,
      facts: `${number} costs ${eurPerMonth(price)}, the first one now. ${org.name} has ${org.balance_eur} EUR.`,
      question: "Buy?",
      undone: "nothing was bought"
    })
    const orders = yield* NumberOrders
    const bought = yield* orders
      .purchase(
        { org, project },
        {
          number,
          ...(Option.isSome(options.agent) ? { agent_id: options.agent.value } : {}),
          ...(Option.isSome(options.address) ? { address_id: options.address.value } : {})
        }
      )
      .pipe(
        Effect.onInterrupt(() =>
          Console.error(`svc: interrupted: an order of ${number} that was begun goes on; see svc numbers list`)
        ),
        Effect.mapError(
          (error) =>
            new NumbersFailed({
              message: inWords(error, { number, price, balance: org.balance_eur, org: org.public_id })
            })
        )
      )
    const { balance_eur } = yield* Effect.flatMap(Organizations, (organizations) => organizations.find(options.org))
    yield* Console.log(
      options.json
        ? JSON.stringify({ phone_number: bought, balance_eur })
        : `${number} is bought from ${bought.telephony} (id ${bought.id}) for ${eurPerMonth(bought.monthly_cost_eur)}; ` +
            `${org.name} has ${balance_eur} EUR left.`
    )
  }).pipe(Effect.provide(OrderServices))

/** `svc numbers assign <number|id> <agent|none>` */
export const assign = (
  options: OwnerIds & { readonly number: string; readonly agent: string; readonly json: boolean }
) =>
  Effect.gen(function* () {
    const numbers = yield* PhoneNumbers
    const { number, owner } = yield* numberOf(options, options.number)
    const agent = options.agent === "none" ? null : options.agent
    const assigned = yield* Effect.catchTag(
      numbers.assign(owner.project, String(number.id), agent),
      "ValidationError",
      () => new NumbersFailed({ message: `${agent} is not an agent of project ${owner.project.public_id}, by its id` })
    )
    yield* Console.log(
      options.json
        ? JSON.stringify({ phone_number: assigned })
        : assigned.agent_id === null
          ? `${assigned.number} has no agent; calls to it are rejected.`
          : `${assigned.number} is answered by ${assigned.agent_id}.`
    )
  }).pipe(Effect.provide(NumberServices))

/** `svc numbers release <number|id>`: asks before it releases. */
export const release = (
  options: OwnerIds & { readonly number: string; readonly yes: boolean; readonly json: boolean }
) =>
  Effect.gen(function* () {
    const { number, owner } = yield* numberOf(options, options.number)
    const { agent_id, monthly_cost_eur, number: text, telephony } = number
    yield* confirm({
      yes: options.yes,
      facts:
        `${text} of ${owner.org.name} (${telephony}, ${eurPerMonth(monthly_cost_eur)}, ` +
        `${agent_id === null ? "no agent" : `answered by ${agent_id}`}) gets no calls after its release.`,
      question: "Release?",
      undone: `${text} was not released`
    })
    yield* Effect.flatMap(NumberOrders, (orders) => orders.release(owner.project, String(number.id)))
    yield* Console.log(
      options.json
        ? JSON.stringify({ deleted: true, id: number.id })
        : number.next_rent_at === null
          ? `${text} is released; it stays with ${telephony}.`
          : `${text} is released; the order to end its rent goes to ${telephony} until it confirms.`
    )
  }).pipe(Effect.provide(OrderServices))
