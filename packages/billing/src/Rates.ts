import type { Tier } from "@svc/api/Principal"
import { BigDecimal, Config, ConfigError, Context, Effect, Either, Layer, Option } from "effect"

/** Rates of a tier, in EUR per minute. A call keeps the rates of its admission. */
export interface RatesOfTier {
  /** Of the call, charged per second. */
  readonly call: BigDecimal.BigDecimal
  /** Of its recording, per started minute. */
  readonly recording: BigDecimal.BigDecimal
  /** While the caller is connected to a transfer's destination, charged per second. */
  readonly transfer: BigDecimal.BigDecimal
}

type RateTexts = { readonly [K in keyof RatesOfTier]: string }

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

/** Reads a rate; an unset or empty variable means the default. */
const rate = (name: string, defaultValue: string, per = "minute"): Config.Config<BigDecimal.BigDecimal> =>
  Config.string(name).pipe(
    Config.withDefault(""),
    Config.mapOrFail((value) => {
      const text = value.trim() === "" ? defaultValue : value.trim()
      const parsed = /^[0-9]{1,4}(\.[0-9]{1,4})?$/.test(text) ? BigDecimal.fromString(text) : Option.none()
      return Either.fromOption(parsed, () =>
        ConfigError.InvalidData([name], `must be EUR per ${per}, below 10000 and with at most 4 decimals, such as 0.08`)
      )
    })
  )

const ratesOf = (tier: Tier): Config.Config<RatesOfTier> => {
  const of = (rateName: keyof RatesOfTier) =>
    rate(`SVC_RATE_${rateName.toUpperCase()}_PER_MINUTE_${tier.toUpperCase()}`, defaults[tier][rateName])
  return Config.all({ call: of("call"), recording: of("recording"), transfer: of("transfer") })
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
 * The rates of each tier. Five variables per tier change them, where `<TIER>` is `PAYG`, `STARTER`,
 * `GROWTH`, `SCALE` or `ENTERPRISE`; an invalid one fails the layer with an error that names it.
 *
 * | variable, EUR | PAYG | STARTER | GROWTH | SCALE | ENTERPRISE |
 * |---|---|---|---|---|---|
 * | `SVC_RATE_CALL_PER_MINUTE_<TIER>` | 0.12 | 0.10 | 0.08 | 0.06 | 0 |
 * | `SVC_RATE_RECORDING_PER_MINUTE_<TIER>` | 0.005 | 0.005 | 0.004 | 0.003 | 0 |
 * | `SVC_RATE_TRANSFER_PER_MINUTE_<TIER>` | 0.03 | 0.025 | 0.02 | 0.015 | 0 |
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
