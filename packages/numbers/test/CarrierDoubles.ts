import {
  type CarrierAddress,
  CarrierRefused,
  CarrierUnavailable,
  type Numbers,
  type OwnedNumber,
  type Regulatory
} from "@svc/providers/Carrier"
import { Providers } from "@svc/providers/Providers"
import { Effect, Layer, Stream } from "effect"

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

type Submit = ReturnType<Regulatory["submit"]>
type Status = ReturnType<Regulatory["status"]>

/** A carrier that verifies addresses as the test says, and remembers what it was asked. */
export class AddressesDouble {
  readonly submissions: Array<{ readonly key: string; readonly address: CarrierAddress }> = []
  readonly asked: Array<string> = []
  requirements: Regulatory["requirements"] = () => Effect.succeed({ fields: [], number_types: ["local", "mobile"] })
  /** The answer to a submission; by default its id is the key with a prefix. */
  onSubmit: (key: string, nth: number) => Submit = (key) => Effect.succeed({ submission_id: `sub-${key}` })
  /** The answer to the nth question about an address. */
  onStatus: (address: CarrierAddress, nth: number) => Status = () =>
    Effect.fail(new CarrierUnavailable({ reason: "down" }))

  readonly regulatory: Regulatory = {
    requirements: (country) => Effect.suspend(() => this.requirements(country)),
    submit: (order) =>
      Effect.suspend(() => {
        this.submissions.push(order)
        return this.onSubmit(order.key, this.submissionsOf(order.address.customer_name).length)
      }),
    status: (id) =>
      Effect.suspend(() => {
        this.asked.push(id)
        const submission = this.submissions.find(({ key }) => id === `sub-${key}`)
        return submission === undefined
          ? Effect.die(`no submission ${id}`)
          : this.onStatus(submission.address, this.asked.filter((other) => other === id).length)
      })
  }

  /** The keys of the submissions for a customer. */
  submissionsOf(customer: string): ReadonlyArray<string> {
    return this.submissions.flatMap(({ address, key }) => (address.customer_name === customer ? [key] : []))
  }
}

/** What a telephony plugin without calls provides. */
export interface CarrierDouble {
  readonly numbers?: Numbers
  readonly regulatory?: Regulatory
}

/** Telephony plugins by id, in the order of preference. */
export interface CarrierDoubles {
  readonly [id: string]: CarrierDouble | undefined
}

/** Plugins of telephony only. */
export const plugins = (carriers: CarrierDoubles) =>
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
      ...(carrier?.numbers === undefined ? {} : { numbers: carrier.numbers }),
      ...(carrier?.regulatory === undefined ? {} : { regulatory: carrier.regulatory })
    })),
    speechToText: [],
    textToSpeech: [],
    languageModel: [],
    voiceActivity: undefined,
    objectStore: undefined,
    embedding: undefined
  })
