import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Telephony } from "@svc/providers/Telephony"
import type { OtherPhone } from "@svc/providers/testing/Phone"
import { telephonySuite } from "@svc/providers/testing/TelephonySuite"
import { Effect, Layer } from "effect"
import type { EmulatedTwilio } from "../src/testing/EmulatedTwilio.ts"
import { setUp } from "../src/testing/TwilioSetup.ts"

let carrier: EmulatedTwilio | undefined
let phones = 0

const theCarrier = (): EmulatedTwilio => {
  if (carrier === undefined) throw new Error("the layer was not built")
  return carrier
}

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-twilio-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

const layer = Layer.scoped(
  Telephony,
  Effect.gen(function* () {
    const made = yield* setUp({ folder: yield* folder })
    carrier = made.carrier
    return made.telephony
  })
)

const faulty = (intercept: EmulatedTwilio["faults"]["intercept"]) =>
  Layer.scoped(
    Telephony,
    Effect.gen(function* () {
      const made = yield* setUp({ folder: yield* folder })
      made.carrier.faults.intercept = intercept
      return made.telephony
    })
  )

telephonySuite({
  name: "calls, numbers and messages of Twilio",
  layer,
  deadline: "8 seconds",
  sessions: 100,
  refusesSms: "+12025550000",
  forSale: { country: "US", type: "local", refused: "+12125559999" },
  faults: {
    refuses: faulty((_, response) => {
      response.writeHead(401, { "content-type": "application/json" }).end('{"code":20003,"message":"Authenticate"}')
      return true
    }),
    hangs: faulty(() => true),
    closesEarly: faulty((_, response) => {
      response.destroy()
      return true
    }),
    sendsGarbage: faulty((_, response) => {
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(response.req.url?.includes("Calls") ? "<html>" : '{"sid":7}')
      return true
    })
  },
  openAtPeer: Effect.sync(() => [...theCarrier().calls.values()].filter(({ hasStream }) => hasStream).length),
  phone: () =>
    Effect.sync(() => {
      const at = theCarrier()
      return {
        dial: (numbers) =>
          Effect.acquireRelease(
            Effect.sync(() => at.dial(numbers)),
            (call) => call.end("completed")
          ).pipe(Effect.map((call) => call.phone)),
        messages: () => at.messages,
        text: at.text,
        other: (behaves) =>
          Effect.sync((): OtherPhone => {
            const number = `+1202555${String(7000 + phones++)}`
            at.addPhone(number, behaves)
            const phone = () => at.callTo(number)?.phone
            return {
              number,
              call: {
                state: () => phone()?.state() ?? "dialling",
                send: (frame) => Effect.suspend(() => phone()?.send(frame) ?? Effect.void),
                heard: () => phone()?.heard() ?? new Uint8Array(),
                hangup: Effect.suspend(() => phone()?.hangup ?? Effect.void),
                drop: Effect.suspend(() => phone()?.drop ?? Effect.void)
              }
            }
          })
      }
    })
})
