import { type CarrierAddress, CarrierUnavailable, type Regulatory } from "@svc/providers/Carrier"
import { Providers } from "@svc/providers/Providers"
import { Effect, Layer, Stream } from "effect"

type Submit = ReturnType<Regulatory["submit"]>
type Status = ReturnType<Regulatory["status"]>

/** A carrier that verifies addresses as the test says, and remembers what it was asked. */
export class CarrierDouble {
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

/** Telephony plugins without calls; those with a carrier verify addresses. */
export const plugins = (telephony: { readonly [id: string]: CarrierDouble | undefined }) =>
  Layer.succeed(Providers, {
    plugins: [],
    telephony: Object.entries(telephony).map(([id, carrier]) => ({
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
      ...(carrier === undefined ? {} : { regulatory: carrier.regulatory })
    })),
    speechToText: [],
    textToSpeech: [],
    languageModel: [],
    voiceActivity: undefined,
    embedding: undefined
  })
