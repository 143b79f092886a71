import { Telephony } from "@svc/providers/Telephony"
import { type HostDouble, makeHostDouble } from "@svc/providers/testing/HostDouble"
import { type RouteServer, routeServer } from "@svc/providers/testing/RouteServer"
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import { Settings } from "../Settings.ts"
import * as TelnyxTelephony from "../TelnyxTelephony.ts"
import { type EmulatedTelnyx, emulatedTelnyx } from "./EmulatedTelnyx.ts"

/** The plugin between an emulated carrier and a server with its routes. */
export interface TelnyxSetup {
  readonly carrier: EmulatedTelnyx
  readonly server: RouteServer
  readonly telephony: Context.Tag.Service<Telephony>
  readonly double: HostDouble
}

export interface SetupOptions {
  readonly settings?: Readonly<Record<string, string>>
  readonly folder?: string
  /** What comes before the path of the routes. */
  readonly basePath?: string
}

/** The plugin, started anew at the same carrier and server. Without a key it is that of the carrier. */
export const startAt = (
  carrier: EmulatedTelnyx,
  server: RouteServer,
  { basePath = "", folder, settings }: SetupOptions = {}
): Effect.Effect<TelnyxSetup, never, Scope.Scope> =>
  Effect.gen(function* () {
    const double = yield* makeHostDouble({
      baseUrl: `${server.origin}${basePath}`,
      ...(folder === undefined ? {} : { folder })
    })
    const decoded = yield* Schema.decode(Settings)({
      apiKey: carrier.apiKey,
      publicKey: carrier.publicKey,
      apiUrl: carrier.origin,
      ...settings
    }).pipe(Effect.orDie)
    const context = yield* Effect.orDie(Layer.build(TelnyxTelephony.layer(decoded, double.host)))
    const telephony = Context.get(context, Telephony)
    server.mount(telephony)
    return { carrier, server, telephony, double }
  })

export const setUp = (options: SetupOptions = {}): Effect.Effect<TelnyxSetup, never, Scope.Scope> =>
  Effect.gen(function* () {
    const carrier = yield* emulatedTelnyx
    const server = yield* routeServer("telnyx")
    carrier.webhookUrl = `${server.origin}${options.basePath ?? ""}/telephony/telnyx/voice`
    return yield* startAt(carrier, server, options)
  })
