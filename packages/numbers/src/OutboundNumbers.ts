import { Accounts } from "@svc/auth/Accounts"
import { startPeriodicTask } from "@svc/cluster/PeriodicTask"
import { Config, ConfigError, Context, Effect, Either, Layer } from "effect"
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
    /** Reads the countries of organizations; a running server does so every 2 seconds. */
    readonly refresh: Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<OutboundNumbers, ConfigError.ConfigError, Accounts> = Layer.scoped(
    OutboundNumbers,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const server = yield* serverCountries
      let own: ReadonlyMap<number, OutboundCountries> = new Map()
      const refresh = Effect.map(accounts.outboundCountries, (set) => {
        // What cannot be read, which only a newer version could have written, allows nothing.
        own = new Map([...set].map(([org, text]) => [org, countriesOf(text) ?? new Set()]))
      })
      yield* refresh
      yield* startPeriodicTask({
        every: "2 seconds",
        run: refresh,
        failureMessage: "Could not read which countries organizations may call; those last read apply"
      })
      return { refusal: (orgId, number) => outboundRefusal(number, own.get(orgId) ?? server), refresh }
    })
  )
}
