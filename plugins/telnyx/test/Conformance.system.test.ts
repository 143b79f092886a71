import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Telephony } from "@svc/providers/Telephony"
import type { OtherPhone } from "@svc/providers/testing/Phone"
import { telephonySuite } from "@svc/providers/testing/TelephonySuite"
import { Effect, Layer } from "effect"
import type { EmulatedTelnyx } from "../src/testing/EmulatedTelnyx.ts"
import { setUp } from "../src/testing/TelnyxSetup.ts"

let carrier: EmulatedTelnyx | undefined
let phones = 0

const theCarrier = (): EmulatedTelnyx => {
  if (carrier === undefined) throw new Error("the layer was not built")
  return carrier
}

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-telnyx-"))),
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

const faulty = (fault: (carrier: EmulatedTelnyx) => void) =>
  Layer.scoped(
    Telephony,
    Effect.map(setUp(), (made) => {
      fault(made.carrier)
      return made.telephony
    })
  )

telephonySuite({
  name: "calls, numbers and messages of Telnyx",
  layer,
  deadline: "8 seconds",
  sessions: 100,
  refusesSms: "+12025550000",
  forSale: { country: "US", type: "local", refused: "+12125559999" },
  faults: {
    refuses: faulty(({ faults }) => {
      faults.intercept = (_, response) => {
        response.writeHead(401, { "content-type": "application/json" }).end('{"errors":[{"code":"10009"}]}')
        return true
      }
    }),
    hangs: faulty(({ faults }) => {
      faults.intercept = () => true
    }),
    closesEarly: faulty(({ faults }) => {
      faults.intercept = (_, response) => {
        response.destroy()
        return true
      }
    }),
    sendsGarbage: faulty(({ faults }) => {
      faults.intercept = (_, response) => {
        response.writeHead(200, { "content-type": "application/json" }).end('{"data":7}')
        return true
      }
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
            (call) => at.hangUp(call)
          ).pipe(Effect.map((call) => call.phone(at.hangUp))),
        messages: () => at.messages,
        text: at.text,
        other: (behaves) =>
          Effect.sync((): OtherPhone => {
            const number = `+1202555${String(7000 + phones++)}`
            at.addPhone(number, behaves)
            const call = () => at.callTo(number)
            const phone = () => call()?.phone(at.hangUp)
            return {
              number,
              call: {
                state: () => call()?.state ?? "dialling",
                send: (frame) => Effect.suspend(() => phone()?.send(frame) ?? Effect.void),
                heard: () => call()?.heard() ?? new Uint8Array(),
                hangup: Effect.suspend(() => phone()?.hangup ?? Effect.void),
                drop: Effect.suspend(() => phone()?.drop ?? Effect.void)
              }
            }
          })
      }
    })
})
