import type { Tier } from "@svc/api/Principal"
import { BigDecimal, Config, ConfigError, Context, Effect, Either, Layer, Option } from "effect"
import { zero } from "./Money.ts"

/** Rates of a tier. A call keeps the rates of its admission. */
export interface RatesOfTier {
  /** Of the call, EUR per minute, charged per second. */
  readonly call: BigDecimal.BigDecimal
  /** Of its recording, per started minute. */
  readonly recording: BigDecimal.BigDecimal
  /** While the caller is connected to a transfer's destination, charged per second. */
  readonly transfer: BigDecimal.BigDecimal
  /** Of the language models, EUR per million tokens, whichever models a call uses. */
  readonly llm: {
    /** Tokens of requests that did not come from the provider's cache. */
    readonly input: BigDecimal.BigDecimal
    readonly cached_input: BigDecimal.BigDecimal
    readonly output: BigDecimal.BigDecimal
  }
}

type MinuteRate = Exclude<keyof RatesOfTier, "llm">
type RateTexts = { readonly [K in MinuteRate]: string }

/** Per segment of a text message. */
const smsDefaults: { readonly [T in Tier]: string } = {
  payg: "0.09",
  starter: "0.085",
  growth: "0.08",
  scale: "0.07",
  enterprise: "0"
}

/** Per month of a phone number. The same on every tier: the operator pays the carrier whoever uses the number. */
const numberDefault = "5"

/** Used where no variable is set. Enterprise is free, for self-hosters who do not charge anyone. */
const defaults: { readonly [T in Tier]: RateTexts } = {
  payg: { call: "0.12", recording: "0.005", transfer: "0.03" },
  starter: { call: "0.1", recording: "0.005", transfer: "0.025" },
  growth: { call: "0.08", recording: "0.004", transfer: "0.02" },
  scale: { call: "0.06", recording: "0.003", transfer: "0.015" },
  enterprise: { call: "0", recording: "0", transfer: "0" }
}

/** Reads a rate; none for an unset or empty variable. */
const givenRate = (name: string, per: string): Config.Config<Option.Option<BigDecimal.BigDecimal>> =>
  Config.string(name).pipe(
    Config.withDefault(""),
    Config.mapOrFail((value) => {
      const text = value.trim()
      if (text === "") return Either.right(Option.none())
      const parsed = /^[0-9]{1,4}(\.[0-9]{1,4})?$/.test(text) ? BigDecimal.fromString(text) : Option.none()
      return Option.isSome(parsed)
        ? Either.right(parsed)
        : Either.left(
            ConfigError.InvalidData(
              [name],
              `must be EUR per ${per}, below 10000 and with at most 4 decimals, such as 0.08`
            )
          )
    })
  )

/** Reads a rate; an unset or empty variable means the default. */
const rate = (name: string, defaultValue: string, per = "minute"): Config.Config<BigDecimal.BigDecimal> =>
  Config.map(
    givenRate(name, per),
    Option.getOrElse(() => BigDecimal.unsafeFromString(defaultValue))
  )

const ratesOf = (tier: Tier): Config.Config<RatesOfTier> => {
  const of = (rateName: MinuteRate) =>
    rate(`SVC_RATE_${rateName.toUpperCase()}_PER_MINUTE_${tier.toUpperCase()}`, defaults[tier][rateName])
  return Config.all({ call: of("call"), recording: of("recording"), transfer: of("transfer"), llm: tokenRatesOf(tier) })
}

/** None by default: whoever runs the server pays the model's provider. Cached tokens cost as others unless they have a rate. */
const tokenRatesOf = (tier: Tier): Config.Config<RatesOfTier["llm"]> => {
  const of = (kind: string) => givenRate(`SVC_RATE_LLM_${kind}_PER_MILLION_${tier.toUpperCase()}`, "million tokens")
  return Config.map(
    Config.all({ input: of("INPUT"), cached: of("CACHED_INPUT"), output: of("OUTPUT") }),
    ({ cached, ...given }) => {
      const input = Option.getOrElse(given.input, () => zero)
      return {
        input,
        cached_input: Option.getOrElse(cached, () => input),
        output: Option.getOrElse(given.output, () => zero)
      }
    }
  )
}

const smsRateOf = (tier: Tier): Config.Config<BigDecimal.BigDecimal> =>
  rate(`SVC_RATE_SMS_${tier.toUpperCase()}`, smsDefaults[tier], "message")

const numberRateOf = (tier: Tier): Config.Config<BigDecimal.BigDecimal> =>
  rate(`SVC_RATE_NUMBER_PER_MONTH_${tier.toUpperCase()}`, numberDefault, "month")

const eachTier = <A>(of: (tier: Tier) => Config.Config<A>) =>
  Config.all({
    payg: of("payg"),
    starter: of("starter"),
    growth: of("growth"),
    scale: of("scale"),
    enterprise: of("enterprise")
  })

/**
 * The rates of each tier. Eight variables per tier change them, where `<TIER>` is `PAYG`, `STARTER`,
 * `GROWTH`, `SCALE` or `ENTERPRISE`; an invalid one fails the layer with an error that names it.
 *
 * | variable, EUR | PAYG | STARTER | GROWTH | SCALE | ENTERPRISE |
 * |---|---|---|---|---|---|
 * | `SVC_RATE_CALL_PER_MINUTE_<TIER>` | 0.12 | 0.10 | 0.08 | 0.06 | 0 |
 * | `SVC_RATE_RECORDING_PER_MINUTE_<TIER>` | 0.005 | 0.005 | 0.004 | 0.003 | 0 |
 * | `SVC_RATE_TRANSFER_PER_MINUTE_<TIER>` | 0.03 | 0.025 | 0.02 | 0.015 | 0 |
 * | `SVC_RATE_LLM_INPUT_PER_MILLION_<TIER>` | 0 | 0 | 0 | 0 | 0 |
 * | `SVC_RATE_LLM_CACHED_INPUT_PER_MILLION_<TIER>` | as input | as input | as input | as input | as input |
 * | `SVC_RATE_LLM_OUTPUT_PER_MILLION_<TIER>` | 0 | 0 | 0 | 0 | 0 |
 * | `SVC_RATE_SMS_<TIER>` | 0.09 | 0.085 | 0.08 | 0.07 | 0 |
 * | `SVC_RATE_NUMBER_PER_MONTH_<TIER>` | 5 | 5 | 5 | 5 | 5 |
 */
export class Rates extends Context.Tag("@svc/billing/Rates")<
  Rates,
  {
    readonly of: (tier: Tier) => RatesOfTier
    /** EUR per segment of a text message. */
    readonly sms: (tier: Tier) => BigDecimal.BigDecimal
    /** EUR per month of a phone number. */
    readonly number: (tier: Tier) => BigDecimal.BigDecimal
  }
>() {
  static readonly layer: Layer.Layer<Rates, ConfigError.ConfigError> = Layer.effect(
    Rates,
    Effect.map(
      Config.all({ calls: eachTier(ratesOf), messages: eachTier(smsRateOf), numbers: eachTier(numberRateOf) }),
      ({ calls, messages, numbers }) => ({
        of: (tier) => calls[tier],
        sms: (tier) => messages[tier],
        number: (tier) => numbers[tier]
      })
    )
  )
}
