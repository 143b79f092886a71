import type { Host } from "@svc/providers/Host"
import type { PluginError } from "@svc/providers/Plugin"
import { type CallLeg, type IncomingCall, Telephony } from "@svc/providers/Telephony"
import type { OtherBehaviour, Phone, PhoneCall } from "@svc/providers/testing/Phone"
import { Context, Deferred, Effect, Fiber, FiberId, Layer, type Scope, Stream } from "effect"
import type { Settings } from "../src/Settings.ts"
import * as SipTelephony from "../src/SipTelephony.ts"

/** A log that is thrown away. */
export const silent: Pick<Host, "log"> = {
  log: { debug: () => {}, info: () => {}, warning: () => {}, error: () => {} }
}

/** The plugin on a loopback port. */
export const plugin = (
  port: number,
  settings: Partial<Settings>,
  replacements: SipTelephony.Replacements = {}
): Layer.Layer<Telephony, PluginError> =>
  SipTelephony.layer({ bind: `127.0.0.1:${port}`, ...settings }, silent, replacements)

/** What a phone has of one call. */
class PhoneEnd {
  state: ReturnType<PhoneCall["state"]> = "dialling"
  /** The leg, once the call is answered. */
  readonly leg = Deferred.unsafeMake<CallLeg>(FiberId.none)
  digits = ""
  readonly #played: Array<Uint8Array> = []

  answered(leg: CallLeg): void {
    Deferred.unsafeDone(this.leg, Effect.succeed(leg))
    this.state = "answered"
    leg.listen((event) => {
      if (event._tag === "Audio") this.#played.push(new Uint8Array(event.payload))
      else if (event._tag === "Dtmf") this.digits += event.digit
      else if (event._tag === "Ended") this.state = "ended"
    })
  }

  heard(): Uint8Array {
    return new Uint8Array(Buffer.concat(this.#played))
  }
}

/** Phones on a second instance of the plugin, whose trunk is the first, and the other way round. */
export const phones = (
  port: number,
  trunkPort: number,
  trunkHost = "127.0.0.1"
): Effect.Effect<Phone, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const settings = { trunkUri: `sip:${trunkHost}:${trunkPort}`, rtpPorts: "28100-29099", codecs: "PCMA,PCMU" }
    let isDead = false
    const layer = Layer.orDie(plugin(port, settings, { isAllowed: () => !isDead }))
    const network = Context.get(yield* Layer.buildWithScope(layer, scope), Telephony)
    const waiting = new Map<string, (call: IncomingCall) => Effect.Effect<void>>()
    yield* Effect.forkScoped(
      Stream.runForEach(network.incoming, (call) =>
        Effect.forkIn(waiting.get(call.to)?.(call) ?? Effect.sync(() => call.reject("unavailable")), scope)
      )
    )
    const { formats } = network.capabilities
    let count = 0

    const callOf = (end: PhoneEnd, stop: Effect.Effect<void>): PhoneCall => ({
      state: () => end.state,
      send: (frame) => Effect.map(Deferred.await(end.leg), (leg) => leg.send(frame)),
      heard: () => end.heard(),
      hangup: Effect.gen(function* () {
        yield* stop
        if (yield* Deferred.isDone(end.leg)) (yield* Deferred.await(end.leg)).hangup("the phone hung up")
        end.state = "ended"
      }),
      // The phones still have their sockets, and do not answer any more.
      drop: Effect.sync(() => {
        isDead = true
      }),
      press: (digits) => Effect.map(Deferred.await(end.leg), (leg) => leg.sendDtmf?.(digits)),
      digits: () => end.digits
    })

    const dial: Phone["dial"] = ({ from, to }) =>
      Effect.gen(function* () {
        const end = new PhoneEnd()
        const { outbound } = network
        if (outbound === undefined) return yield* Effect.dieMessage("the phones have no trunk")
        const fiber = yield* outbound
          .dial({ callId: "phone", to, from, formats }, { onRinging: () => (end.state = "ringing") })
          .pipe(
            Effect.match({
              onFailure: () => {
                end.state = "rejected"
              },
              onSuccess: (leg) => end.answered(leg)
            }),
            Effect.forkIn(scope)
          )
        const call = callOf(end, Effect.asVoid(Fiber.interrupt(fiber)))
        yield* Effect.addFinalizer(() => call.hangup)
        return call
      })

    const behave = (behaves: OtherBehaviour, end: PhoneEnd) => (call: IncomingCall) =>
      Effect.gen(function* () {
        if (behaves === "busy" || behaves === "declines") {
          end.state = "rejected"
          return call.reject("busy")
        }
        call.ringing("phone")
        end.state = "ringing"
        yield* Effect.forkIn(
          Effect.zipRight(
            call.canceled,
            Effect.sync(() => {
              end.state = "ended"
            })
          ),
          scope
        )
        if (behaves === "rings") return
        end.answered(yield* call.answer({ callId: "phone", formats }))
      }).pipe(Effect.ignore)

    return {
      dial,
      other: (behaves) =>
        Effect.gen(function* () {
          const number = `+120255501${String(count++ % 100).padStart(2, "0")}`
          const end = new PhoneEnd()
          waiting.set(number, behave(behaves, end))
          const call = callOf(end, Effect.void)
          yield* Effect.addFinalizer(() => call.hangup)
          return { number, call }
        })
    }
  })
