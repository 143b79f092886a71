import { legFormats } from "@svc/providers/Audio"
import { type CallLeg, Telephony } from "@svc/providers/Telephony"
import { Effect, Random, Schedule, Stream } from "effect"
import * as SipTelephony from "../src/SipTelephony.ts"
import { anyCaller, chance, frame, hangsUp, lossy, quiet, settingsOf } from "./SoakCalls.ts"

/**
 * The other side of SipSoak: a process that may be killed at any time. Its arguments are its two ports, those of the soaked
 * side, and the folder of the certificate.
 */

const [port, tlsPort, serverPort, serverTlsPort, folder = ""] = process.argv.slice(2)
const own = { port: Number(port), tlsPort: Number(tlsPort) }
const server = { port: Number(serverPort), tlsPort: Number(serverTlsPort) }

/** Talks, or is silent, for up to 4 s, with digits now and then, and hangs up, or leaves that to the other side. */
const talk = (leg: CallLeg) =>
  Effect.gen(function* () {
    leg.listen(() => {})
    const speaks = yield* chance(0.8)
    if (yield* chance(0.3)) leg.sendDtmf?.("12#")
    const frames = yield* Random.nextIntBetween(1, 200)
    yield* Effect.sync(() => {
      if (speaks) leg.send(frame)
    }).pipe(Effect.repeat(Schedule.intersect(Schedule.fixed("20 millis"), Schedule.recurs(frames))))
    yield* hangsUp(leg, 0.7)
  })

const program = Effect.gen(function* () {
  const telephony = yield* Telephony
  const { outbound } = telephony
  if (outbound === undefined) return yield* Effect.dieMessage("no trunk")
  yield* Effect.forkScoped(
    Stream.runForEach(telephony.incoming, (call) =>
      Effect.gen(function* () {
        if (yield* chance(0.2)) return call.reject("busy")
        if (yield* chance(0.7)) call.ringing("soak")
        // One of ten rings until the caller gives up.
        if (yield* chance(0.1)) return
        yield* Effect.sleep(yield* Random.nextIntBetween(0, 400))
        yield* talk(yield* call.answer({ callId: "soak", formats: legFormats }))
      }).pipe(Effect.ignore, Effect.forkDaemon)
    )
  )
  const dial = Effect.gen(function* () {
    const call = { callId: "soak", to: "+12025550199", from: yield* anyCaller, formats: legFormats }
    const dialling = Effect.flatMap(outbound.dial(call), talk)
    const giveUpMs = yield* Random.nextIntBetween(0, 500)
    yield* (yield* chance(0.25)) ? Effect.timeout(dialling, giveUpMs) : Effect.timeout(dialling, "60 seconds")
  }).pipe(Effect.ignore)
  yield* Effect.forkDaemon(dial).pipe(
    Effect.zipRight(Effect.flatMap(Random.nextIntBetween(20, 200), (ms) => Effect.sleep(ms))),
    Effect.forever
  )
}).pipe(
  Effect.scoped,
  Effect.provide(SipTelephony.layer(settingsOf(own, server, folder, "39000-39999"), quiet, { isAllowed: lossy }))
)

await Effect.runPromise(program)
