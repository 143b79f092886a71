import { Telephony } from "@svc/providers/Telephony"
import { type HostDouble, makeHostDouble } from "@svc/providers/testing/HostDouble"
import { type RouteServer, routeServer } from "@svc/providers/testing/RouteServer"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import * as TwilioTelephony from "../TwilioTelephony.ts"
import { type EmulatedTwilio, emulatedTwilio } from "./EmulatedTwilio.ts"

/** The plugin between an emulated carrier and a server with its routes. */
export interface TwilioSetup {
  readonly carrier: EmulatedTwilio
  readonly server: RouteServer
  readonly telephony: Context.Tag.Service<Telephony>
  readonly double: HostDouble
}

export interface SetupOptions {
  readonly folder?: string
  /** What comes before the path of the routes. */
  readonly basePath?: string
  readonly authToken?: string
}

/** The plugin, started anew at the same carrier and server. */
export const startAt = (
  carrier: EmulatedTwilio,
  server: RouteServer,
  { authToken = carrier.authToken, basePath = "", folder }: SetupOptions = {}
): Effect.Effect<TwilioSetup, never, Scope.Scope> =>
  Effect.gen(function* () {
    const baseUrl = `${server.origin}${basePath}`
    const double = yield* makeHostDouble({ baseUrl, ...(folder === undefined ? {} : { folder }) })
    const context = yield* Layer.build(
      TwilioTelephony.layer({
        accountSid: carrier.accountSid,
        authToken: Redacted.make(authToken),
        origin: carrier.origin,
        detectsMachines: true,
        host: double.host
      })
    )
    const telephony = Context.get(context, Telephony)
    server.mount(telephony)
    const below = `${baseUrl}/telephony/twilio`
    carrier.webhooks = { voice: `${below}/voice`, status: `${below}/status`, sms: `${below}/sms` }
    return { carrier, server, telephony, double }
  })

export const setUp = (options: SetupOptions = {}): Effect.Effect<TwilioSetup, never, Scope.Scope> =>
  Effect.gen(function* () {
    const carrier = yield* emulatedTwilio
    const server = yield* routeServer("twilio")
    return yield* startAt(carrier, server, options)
  })
