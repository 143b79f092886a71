import type { Statement } from "@effect/sql"
import { Accounts } from "@svc/auth/Accounts"
import { DueCheck } from "@svc/cluster/DueCheck"
import { startPeriodicTask } from "@svc/cluster/PeriodicTask"
import { Config, ConfigError, Context, Duration, Effect, Either, Layer } from "effect"
import { countriesOf, countriesSyntax, type OutboundCountries, outboundRefusal } from "./OutboundCountries.ts"

/** `SVC_OUTBOUND_COUNTRIES`: the countries of organizations that have none of their own. Unset or empty: all. */
export const serverCountries: Config.Config<OutboundCountries> = Config.string("SVC_OUTBOUND_COUNTRIES").pipe(
  Config.withDefault(""),
  Config.mapOrFail((text) => {
    const countries = text.trim() === "" ? "all" : countriesOf(text)
    return countries === undefined
      ? Either.left(ConfigError.InvalidData(["SVC_OUTBOUND_COUNTRIES"], `must be ${countriesSyntax}`))
      : Either.right(countries)
  })
)

/**
 * Which numbers an organization may call, transfer callers to and text. It protects against toll fraud: someone who steals a
 * key, or persuades an agent to transfer a call, could earn from calls to expensive numbers. See docs/security.md.
 */
export class OutboundNumbers extends Context.Tag("@svc/numbers/OutboundNumbers")<
  OutboundNumbers,
  {
    /**
     * Why the organization must not call or text an E.164 number, as text that follows the name of the field; null: it may.
     * By the countries that were last read: those of the organization, or else of the server.
     */
    readonly refusal: (orgId: number, number: string) => string | null
    /** Reads the countries of organizations; a running server does so within 2 seconds after a change. */
    readonly refresh: Effect.Effect<void>
    /** Whether {@link refresh} would read others: an expression for DueCheck. */
    readonly haveChanged: () => Statement.Fragment
  }
>() {
  static readonly layer: Layer.Layer<OutboundNumbers, ConfigError.ConfigError, Accounts> = Layer.effect(
    OutboundNumbers,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const server = yield* serverCountries
      let own: ReadonlyMap<number, OutboundCountries> = new Map()
      let differ = accounts.outboundCountriesDiffer(new Map())
      const refresh = Effect.map(accounts.outboundCountries, (set) => {
        // What cannot be read, which only a newer version could have written, allows nothing.
        own = new Map([...set].map(([org, text]) => [org, countriesOf(text) ?? new Set()]))
        differ = accounts.outboundCountriesDiffer(set)
      })
      yield* refresh
      return {
        refusal: (orgId, number) => outboundRefusal(number, own.get(orgId) ?? server),
        refresh,
        haveChanged: () => differ
      }
    })
  )

  /** Refreshes after a change. */
  static readonly refreshing: Layer.Layer<never, never, DueCheck | OutboundNumbers> = Layer.scopedDiscard(
    Effect.gen(function* () {
      const { haveChanged, refresh } = yield* OutboundNumbers
      const check = yield* DueCheck
      yield* startPeriodicTask({
        every: Duration.infinity,
        early: yield* check.register("numbers.outbound", haveChanged),
        run: refresh,
        failureMessage: "Could not read which countries organizations may call; those last read apply"
      })
    })
  )
}
