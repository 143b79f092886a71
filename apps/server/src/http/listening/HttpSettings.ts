import { isIP } from "node:net"
import { Config, type ConfigError, Effect } from "effect"

/** Where the server listens and how it is reached. */
export interface HttpSettings {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** The public URL of the server, without a slash at the end; undefined: the listen address. */
  readonly baseUrl: string | undefined
  readonly strictResponses: boolean
}

const isHost = (text: string): boolean => isIP(text) !== 0 || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(text)

const isBaseUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { hash, protocol, search } = new URL(text)
  return /^https?:$/.test(protocol) && hash === "" && search === ""
}

/** Reads `SVC_HOST` (127.0.0.1), `SVC_PORT` (8787), `SVC_BASE_URL` and `SVC_STRICT_RESPONSES` (false). */
export const httpSettings: Effect.Effect<HttpSettings, ConfigError.ConfigError> = Effect.gen(function* () {
  const host = yield* Config.string("SVC_HOST").pipe(
    Config.validate({ message: "must be an IP address or a host name of this machine", validation: isHost }),
    Config.withDefault("127.0.0.1")
  )
  const port = yield* Config.string("SVC_PORT").pipe(
    Config.validate({
      message: "must be a port number from 0 to 65535 (0: any free port)",
      validation: (text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535
    }),
    Config.map(Number),
    Config.withDefault(8787)
  )
  const baseUrl = yield* Config.string("SVC_BASE_URL").pipe(
    Config.validate({
      message: "must be a URL like https://voice.example.com, without query or fragment",
      validation: isBaseUrl
    }),
    Config.map((url): string | undefined => url.replace(/\/+$/, "")),
    Config.withDefault(undefined)
  )
  const strictResponses = yield* Config.boolean("SVC_STRICT_RESPONSES").pipe(Config.withDefault(false))
  return { host, port, baseUrl, strictResponses }
})
