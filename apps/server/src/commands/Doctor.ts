import * as Http from "node:http"
import { AuthFailures } from "@svc/auth/AuthFailures"
import { TierLimits } from "@svc/auth/TierLimits"
import { Rates } from "@svc/billing/Rates"
import { loopbackCall } from "@svc/call-engine/live/LoopbackCall"
import { Ticker } from "@svc/call-engine/media/Ticker"
import { retention } from "@svc/call-engine/recording/RetentionWorker"
import { Database } from "@svc/database/Database"
import { checkKeys } from "@svc/database/SecretRotation"
import { StoredSecrets } from "@svc/database/StoredSecrets"
import { VectorsRepo } from "@svc/knowledge/vectors/VectorsRepo"
import { NumberOrdersRepo } from "@svc/numbers/carrier/NumberOrdersRepo"
import { describeDifference, Reconciliation } from "@svc/numbers/carrier/Reconciliation"
import { serverCountries } from "@svc/numbers/OutboundNumbers"
import { PhoneNumbersRepo } from "@svc/numbers/PhoneNumbersRepo"
import { Providers } from "@svc/providers/Providers"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { webhookRetention } from "@svc/webhooks/CleanupWorker"
import { RetrySchedule } from "@svc/webhooks/delivery/RetrySchedule"
import { Config, Console, type Context, Data, Effect, Layer, Schema } from "effect"
import { exposedSimulator, unnamedProxy } from "../Exposure.ts"
import { ClientAddress } from "../http/access/ClientAddress.ts"
import { Readiness } from "../http/health/Readiness.ts"
import { type HttpSettings, httpSettings } from "../http/listening/HttpSettings.ts"
import * as Logging from "../Logging.ts"
import { commandPlugins } from "../PluginHosting.ts"
import { describeCause, Reported } from "../StartFailure.ts"
import { telemetrySettings } from "../telemetry/TelemetrySettings.ts"
import { traceUrl } from "../telemetry/TraceLinks.ts"

/** The result of one check. `detail` is for people: what was found, or what is wrong. */
interface Finding {
  readonly check: string
  readonly ok: boolean
  readonly detail: string
  /** What does not prevent the start, but needs attention. */
  readonly warnings?: ReadonlyArray<string>
}

/** What a check that succeeded found. */
interface Found {
  readonly detail: string
  readonly warnings: ReadonlyArray<string | undefined>
}

/** The failure of a check, in one line. */
class CheckFailed extends Data.TaggedError("CheckFailed")<{ readonly message: string }> {}

/** Runs a check; its failure is a finding and does not end the command. */
const finding = <E, R>(check: string, run: Effect.Effect<string | Found, E, R>): Effect.Effect<Finding, never, R> =>
  run.pipe(
    Effect.map((found): Finding => {
      if (typeof found === "string") return { check, ok: true, detail: found }
      const warnings = found.warnings.filter((warning) => warning !== undefined)
      return { check, ok: true, detail: found.detail, ...(warnings.length === 0 ? {} : { warnings }) }
    }),
    Effect.catchAllCause((cause) => Effect.succeed({ check, ok: false, detail: describeCause(cause) }))
  )

const configuration = Effect.all([
  httpSettings,
  AuthFailures.limit,
  retention,
  webhookRetention,
  telemetrySettings,
  traceUrl,
  serverCountries,
  Layer.build(Layer.mergeAll(Logging.layer, TierLimits.layer, Rates.layer, ClientAddress.layer, RetrySchedule.layer)),
  Layer.build(Layer.provide(UrlSafety.layer, Resolver.layer))
]).pipe(
  Effect.zipRight(Effect.all([httpSettings, Config.string("SVC_TRUSTED_PROXIES").pipe(Config.withDefault(""))])),
  Effect.map(
    ([http, proxies]): Found => ({
      detail: "every variable that is set can be read",
      warnings: [unnamedProxy(http, proxies)]
    })
  ),
  Effect.scoped
)

const database = Database.pipe(
  Effect.map(({ displayName }) => `${displayName} answers, its schema is up to date`),
  Effect.provide(Database.layer)
)

const secrets = checkKeys.pipe(Effect.provide(Layer.merge(Database.layer, StoredSecrets.layer)))

/** A warning when the embedding provider fails. Vectors that are only not made yet are no matter. */
const lackingVectors = Effect.fnUntraced(function* ({ embedding }: Context.Tag.Service<Providers>) {
  if (embedding === undefined) return undefined
  const { bases, last_error } = yield* Effect.flatMap(VectorsRepo, (repo) => repo.backlog(embedding))
  return last_error === null
    ? undefined
    : `knowledge bases whose passages lack vectors: ${bases}, because ${last_error}`
})

const plugins = Effect.gen(function* () {
  const loaded = yield* Providers
  const parts = yield* Effect.flatMap(Readiness, ({ check }) => check)
  const unhealthy = parts.flatMap(({ health, part }) => (health.healthy ? [] : [`${part}: ${health.reason}`]))
  if (unhealthy.length > 0) return yield* new CheckFailed({ message: unhealthy.join("; ") })
  const found: Found = {
    detail: `${loaded.plugins.map(({ name }) => name).join(", ")}: loaded and healthy`,
    warnings: [exposedSimulator(loaded.plugins, yield* httpSettings), yield* lackingVectors(loaded)]
  }
  return found
}).pipe(
  Effect.provide(
    Layer.merge(Readiness.layer, VectorsRepo.layer).pipe(
      Layer.provideMerge(commandPlugins()),
      Layer.provide(Database.layer)
    )
  )
)

const numbers = Effect.flatMap(Reconciliation, ({ differences }) => differences).pipe(
  Effect.map(
    (found): Found => ({
      detail:
        found.length === 0
          ? "no difference to the numbers of carriers that list theirs"
          : `differences to the numbers of carriers: ${found.length}`,
      warnings: found.map(describeDifference)
    })
  ),
  Effect.provide(
    Reconciliation.layer.pipe(
      Layer.provide(Layer.merge(NumberOrdersRepo.layer, PhoneNumbersRepo.layer)),
      Layer.provide(Layer.merge(commandPlugins(), Database.layer))
    )
  )
)

const media = loopbackCall.pipe(
  Effect.flatMap(({ heard, said }) =>
    heard === ""
      ? Effect.fail(new CheckFailed({ message: "speech-to-text heard nothing of what text-to-speech said" }))
      : Effect.succeed(heard === said ? "a loopback call was heard word for word" : `said "${said}", heard "${heard}"`)
  ),
  Effect.provide(Layer.merge(commandPlugins(), Ticker.layer))
)

/** Whether an Svc server answers at this address. */
const isSvcRunning = ({ host, port }: HttpSettings): Effect.Effect<boolean> =>
  Effect.async<boolean>((resume) => {
    const request = Http.get({ host, port, path: "/healthz", timeout: 2000 }, (response) => {
      response.resume()
      resume(Effect.succeed(response.statusCode === 200 && response.headers["x-request-id"] !== undefined))
    })
    request.on("timeout", () => request.destroy()).on("error", () => resume(Effect.succeed(false)))
    return Effect.sync(() => request.destroy())
  })

const Warned = Schema.parseJson(
  Schema.Struct({ warnings: Schema.optionalWith(Schema.Array(Schema.String), { default: () => [] }) })
)

/** The warnings of the server that runs at this address. */
const warningsOfServer = ({ host, port }: HttpSettings): Effect.Effect<ReadonlyArray<string>> =>
  Effect.async<string>((resume) => {
    const request = Http.get({ host, port, path: "/readyz", timeout: 5000 }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part
      })
      response.on("end", () => resume(Effect.succeed(text)))
    })
    request.on("timeout", () => request.destroy()).on("error", () => resume(Effect.succeed("{}")))
    return Effect.sync(() => request.destroy())
  }).pipe(
    Effect.flatMap(Schema.decode(Warned)),
    Effect.map(({ warnings }) => warnings),
    // Another release of the server may answer in another form.
    Effect.orElseSucceed(() => [])
  )

const canListen = ({ host, port }: HttpSettings): Effect.Effect<boolean> =>
  Effect.async<boolean>((resume) => {
    const server = Http.createServer()
    server.once("error", () => resume(Effect.succeed(false)))
    server.listen(port, host, () => server.close(() => resume(Effect.succeed(true))))
  })

const port = Effect.gen(function* () {
  const settings = yield* httpSettings
  const address = `port ${settings.port} on ${settings.host}`
  if (settings.port === 0) {
    return "any free port; a running server is not looked for: GET /readyz at its address tells its warnings"
  }
  if (yield* canListen(settings)) return `${address} is free`
  if (yield* isSvcRunning(settings)) {
    const found: Found = {
      detail: `${address} is held by a running server`,
      warnings: yield* warningsOfServer(settings)
    }
    return found
  }
  return yield* new CheckFailed({ message: `${address} cannot be listened on; set SVC_HOST or SVC_PORT` })
})

const line = (mark: string, check: string, text: string): string => `${mark}  ${check.padEnd(13)} ${text}`

const show = ({ check, detail, ok, warnings = [] }: Finding): string =>
  [line(ok ? "ok  " : "FAIL", check, detail), ...warnings.map((text) => line("warn", check, text))].join("\n")

/** `svc doctor`: checks each part that a server needs, one after the other, and reports the result. */
export const doctor = (options: { readonly json: boolean }) =>
  Effect.gen(function* () {
    const findings: Array<Finding> = []
    const report = (check: Effect.Effect<Finding>) =>
      Effect.tap(check, (found) => {
        findings.push(found)
        return options.json ? Effect.void : Console.log(show(found))
      })
    yield* report(finding("configuration", configuration))
    yield* report(finding("database", database))
    yield* report(finding("secrets", secrets))
    const { ok: loaded } = yield* report(finding("plugins", plugins))
    // The carriers and the loopback call need the plugins.
    if (loaded) {
      yield* report(finding("numbers", numbers))
      yield* report(finding("media", media))
    }
    yield* report(finding("port", port))
    const ok = findings.every((found) => found.ok)
    if (options.json) yield* Console.log(JSON.stringify({ ok, checks: findings }))
    if (!ok) return yield* Effect.fail(new Reported())
  })
