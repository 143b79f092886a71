import * as Http from "node:http"
import { AuthFailures } from "@svc/auth/AuthFailures"
import { TierLimits } from "@svc/auth/TierLimits"
import { Rates } from "@svc/billing/Rates"
import { loopbackCall } from "@svc/call-engine/live/LoopbackCall"
import { Ticker } from "@svc/call-engine/media/Ticker"
import { retention } from "@svc/call-engine/recording/RetentionWorker"
import { Database } from "@svc/database/Database"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { Providers } from "@svc/providers/Providers"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { webhookRetention } from "@svc/webhooks/CleanupWorker"
import { RetrySchedule } from "@svc/webhooks/delivery/RetrySchedule"
import { Console, Data, Effect, Layer } from "effect"
import { ClientAddress } from "../http/access/ClientAddress.ts"
import { Readiness } from "../http/health/Readiness.ts"
import { type HttpSettings, httpSettings } from "../http/listening/HttpSettings.ts"
import * as Logging from "../Logging.ts"
import { describeCause, Reported } from "../StartFailure.ts"

/** The result of one check. `detail` is for people: what was found, or what is wrong. */
interface Finding {
  readonly check: string
  readonly ok: boolean
  readonly detail: string
}

/** The failure of a check, in one line. */
class CheckFailed extends Data.TaggedError("CheckFailed")<{ readonly message: string }> {}

/** Runs a check; its failure is a finding and does not end the command. */
const finding = <E, R>(check: string, run: Effect.Effect<string, E, R>): Effect.Effect<Finding, never, R> =>
  run.pipe(
    Effect.map((detail) => ({ check, ok: true, detail })),
    Effect.catchAllCause((cause) => Effect.succeed({ check, ok: false, detail: describeCause(cause) }))
  )

const configuration = Effect.all([
  httpSettings,
  AuthFailures.limit,
  retention,
  webhookRetention,
  Layer.build(Layer.mergeAll(Logging.layer, TierLimits.layer, Rates.layer, ClientAddress.layer, RetrySchedule.layer)),
  Layer.build(Layer.provide(UrlSafety.layer, Resolver.layer))
]).pipe(Effect.as("every variable that is set can be read"), Effect.scoped)

const database = Database.pipe(
  Effect.map(({ displayName }) => `${displayName} answers, its schema is up to date`),
  Effect.provide(Database.layer)
)

const plugins = Effect.gen(function* () {
  const loaded = yield* Providers
  const parts = yield* Effect.flatMap(Readiness, ({ check }) => check)
  const unhealthy = parts.flatMap(({ health, part }) => (health.healthy ? [] : [`${part}: ${health.reason}`]))
  if (unhealthy.length > 0) return yield* new CheckFailed({ message: unhealthy.join("; ") })
  return `${loaded.plugins.map(({ name }) => name).join(", ")}: loaded and healthy`
}).pipe(Effect.provide(Readiness.layer.pipe(Layer.provideMerge(PluginLoader.layer()), Layer.provide(Database.layer))))

const media = loopbackCall.pipe(
  Effect.flatMap(({ heard, said }) =>
    heard === ""
      ? Effect.fail(new CheckFailed({ message: "the recognizer heard nothing of what the voice said" }))
      : Effect.succeed(heard === said ? "a loopback call was heard word for word" : `said "${said}", heard "${heard}"`)
  ),
  Effect.provide(Layer.merge(PluginLoader.layer(), Ticker.layer))
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

const canListen = ({ host, port }: HttpSettings): Effect.Effect<boolean> =>
  Effect.async<boolean>((resume) => {
    const server = Http.createServer()
    server.once("error", () => resume(Effect.succeed(false)))
    server.listen(port, host, () => server.close(() => resume(Effect.succeed(true))))
  })

const port = Effect.gen(function* () {
  const settings = yield* httpSettings
  const address = `port ${settings.port} on ${settings.host}`
  if (yield* canListen(settings)) return settings.port === 0 ? "any free port" : `${address} is free`
  if (yield* isSvcRunning(settings)) return `${address} is held by a running server`
  return yield* new CheckFailed({ message: `${address} cannot be listened on; set SVC_HOST or SVC_PORT` })
})

const show = ({ check, detail, ok }: Finding): string => `${ok ? "ok  " : "FAIL"}  ${check.padEnd(13)} ${detail}`

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
    const { ok: loaded } = yield* report(finding("plugins", plugins))
    // The loopback call needs the speech plugins.
    if (loaded) yield* report(finding("media", media))
    yield* report(finding("port", port))
    const ok = findings.every((found) => found.ok)
    if (options.json) yield* Console.log(JSON.stringify({ ok, checks: findings }))
    if (!ok) return yield* Effect.fail(new Reported())
  })
