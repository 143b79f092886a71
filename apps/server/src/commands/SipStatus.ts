import { request as httpRequest } from "node:http"
import { Config, Console, Data, Effect, Option, Schema } from "effect"
import { httpSettings } from "../http/listening/HttpSettings.ts"
import { table } from "./Table.ts"

const count = Schema.NullOr(Schema.Number)

/** The answer of `GET /telephony/sip/status`. */
const Status = Schema.Struct({
  version: Schema.Literal(1),
  listening: Schema.Struct({
    address: Schema.String,
    port: Schema.Number,
    transports: Schema.Array(Schema.String)
  }),
  trunks: Schema.Array(
    Schema.Struct({
      trunk: Schema.String,
      state: Schema.String,
      next_register_in_seconds: count,
      last_error: Schema.NullOr(Schema.String)
    })
  ),
  calls: Schema.Array(
    Schema.Struct({
      direction: Schema.String,
      from: Schema.NullOr(Schema.String),
      to: Schema.NullOr(Schema.String),
      state: Schema.String,
      seconds: Schema.Number,
      codec: Schema.NullOr(Schema.String),
      packets_lost: count,
      packets_late: count,
      jitter_ms: count
    })
  ),
  ended: Schema.Struct({ calls: Schema.Number, packets_lost: Schema.Number, packets_late: Schema.Number }),
  ignored: Schema.Array(Schema.Struct({ address: Schema.String, messages: Schema.Number }))
})
type Status = typeof Status.Type

/** The status could not be read; `message` says what to do. */
export class NoSipStatus extends Data.TaggedError("NoSipStatus")<{ readonly message: string }> {}

/** How long the server may take. */
const deadlineMs = 5000

interface Answer {
  readonly status: number
  readonly body: string
}

const get = (url: URL): Effect.Effect<Answer, NoSipStatus> =>
  Effect.async<Answer, NoSipStatus>((resume) => {
    const unreachable = (): void =>
      resume(
        new NoSipStatus({
          message: `no server answers at ${url.origin}: start one with svc serve, or give its address with --url or SVC_URL`
        })
      )
    const request = httpRequest(url, { timeout: deadlineMs }, (response) => {
      let body = ""
      response.setEncoding("utf8").on("data", (part: string) => {
        body += part
      })
      response.on("end", () => resume(Effect.succeed({ status: response.statusCode ?? 0, body })))
      response.on("error", unreachable)
    })
    request.on("timeout", () => request.destroy()).on("error", unreachable)
    request.end()
    return Effect.sync(() => request.destroy())
  })

const duration = (seconds: number): string => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`

const figure = (value: number | null, unit = ""): string | null =>
  value === null ? null : `${Number.isInteger(value) ? value : value.toFixed(1)}${unit}`

const named = 10

const ignoredText = (ignored: Status["ignored"]): string => {
  const [first, more] = [ignored.slice(0, named), ignored.length - named]
  const lines = first.map(({ address, messages }) => `  ${address}  ${messages} message${messages === 1 ? "" : "s"}`)
  return [
    "Ignored, because SVC_SIP_ALLOW does not have them:",
    ...lines,
    ...(more > 0 ? [`  and ${more} more`] : [])
  ].join("\n")
}

const textOf = ({ calls, ended, ignored, listening, trunks }: Status): string => {
  const host = listening.address.includes(":") ? `[${listening.address}]` : listening.address
  return [
    `SIP on ${host}:${listening.port} (${listening.transports.join(", ")})`,
    trunks.length === 0
      ? "No trunk: calls come in, and none can be placed (SVC_SIP_TRUNK_URI)."
      : table(
          trunks.map((trunk) => ({
            trunk: trunk.trunk,
            state: trunk.state,
            "next REGISTER": figure(trunk.next_register_in_seconds, " s"),
            "last error": trunk.last_error
          }))
        ),
    calls.length === 0
      ? "No call in progress."
      : table(
          calls.map((call) => ({
            call: call.direction,
            from: call.from,
            to: call.to,
            state: call.state,
            for: duration(call.seconds),
            codec: call.codec,
            lost: call.packets_lost,
            late: call.packets_late,
            jitter: figure(call.jitter_ms, " ms")
          }))
        ),
    `Since the start ${ended.calls} answered calls have ended: ${ended.packets_lost} packets lost, ${ended.packets_late} late.`,
    ...(ignored.length === 0 ? [] : [ignoredText(ignored)])
  ].join("\n\n")
}

/** `svc sip status`: what the SIP plugin of a running server on this machine does. */
export const status = (options: { readonly url: Option.Option<string>; readonly json: boolean }) =>
  Effect.gen(function* () {
    const { host, port } = yield* httpSettings
    const own = `http://${["0.0.0.0", "::"].includes(host) ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host}:${port}`
    const address = Option.isSome(options.url)
      ? options.url.value
      : yield* Config.withDefault(Config.string("SVC_URL"), own)
    if (!/^http:/.test(address) || !URL.canParse(address)) {
      const message = `--url or SVC_URL must be an http URL of this machine, not ${address}`
      return yield* new NoSipStatus({ message })
    }
    const url = new URL("/telephony/sip/status", address)
    const answer = yield* get(url)
    if (answer.status === 404) {
      return yield* new NoSipStatus({
        message: `the server at ${url.origin} has no SIP status: add @svc/plugin-sip to SVC_PLUGINS and restart it, and run this command on its machine, not through a proxy`
      })
    }
    const read = yield* Effect.mapError(
      Schema.decode(Schema.parseJson(Status))(answer.body),
      () =>
        new NoSipStatus({
          message: `${url.origin} answered with ${answer.status} as no Svc server of this version does: check --url or SVC_URL`
        })
    )
    yield* Console.log(options.json ? JSON.stringify(read) : textOf(read))
  })
