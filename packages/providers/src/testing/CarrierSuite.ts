import { mkdtempSync, rmSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, type Scope } from "effect"
import { Telephony } from "../Telephony.ts"
import type { EmulatedRequest } from "./EmulatedServer.ts"
import type { OtherBehaviour, OtherPhone, Phone, PhoneCall } from "./Phone.ts"
import { telephonySuite } from "./TelephonySuite.ts"

/** What the emulated carriers of plugins have in common; `Call`: their calls. */
export interface EmulatedCarrier<Call> {
  readonly calls: ReadonlyMap<string, { readonly hasStream: boolean }>
  readonly faults: { intercept: (request: EmulatedRequest, response: ServerResponse) => boolean }
  readonly messages: ReturnType<NonNullable<Phone["messages"]>>
  readonly text: NonNullable<Phone["text"]>
  readonly dial: (numbers: { readonly from: string; readonly to: string }) => Call
  readonly addPhone: (number: string, behaves: OtherBehaviour) => void
  /** The newest call to a number. */
  readonly callTo: (number: string) => Call | undefined
}

export interface CarrierSuiteOptions<Call, Carrier extends EmulatedCarrier<Call>> {
  readonly name: string
  /** Starts the plugin and its carrier. `folder`: where the plugin keeps files. */
  readonly setUp: (options: {
    readonly folder: string
  }) => Effect.Effect<{ readonly carrier: Carrier; readonly telephony: typeof Telephony.Service }, never, Scope.Scope>
  /** The phone of a call. */
  readonly phoneOf: (call: Call, carrier: Carrier) => PhoneCall
  /** Ends a call that the phone placed. */
  readonly end: (call: Call, carrier: Carrier) => Effect.Effect<void>
  /** The body of the carrier's answer to a wrong key, in JSON. */
  readonly unauthorized: string
  /** The body of an answer that violates the carrier's protocol. */
  readonly garbage: (response: ServerResponse) => string
}

/** A folder that goes with the scope. */
const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-carrier-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

/** A phone whose call comes later: until then it is being dialled. */
const calledPhone = (call: () => PhoneCall | undefined): PhoneCall => ({
  state: () => call()?.state() ?? "dialling",
  send: (frame) => Effect.suspend(() => call()?.send(frame) ?? Effect.void),
  heard: () => call()?.heard() ?? new Uint8Array(),
  hangup: Effect.suspend(() => call()?.hangup ?? Effect.void),
  drop: Effect.suspend(() => call()?.drop ?? Effect.void)
})

/** Registers the checks of a telephone network as vitest tests, for the plugin of a carrier that is emulated. */
export const carrierSuite = <Call, Carrier extends EmulatedCarrier<Call>>(
  options: CarrierSuiteOptions<Call, Carrier>
): void => {
  const { end, garbage, name, phoneOf, setUp, unauthorized } = options
  let carrier: Carrier | undefined
  let phones = 0
  const current = (): Carrier => {
    if (carrier === undefined) throw new Error("the layer was not built")
    return carrier
  }
  const started = Effect.flatMap(folder, (path) => setUp({ folder: path }))
  const faulty = (intercept: Carrier["faults"]["intercept"]) =>
    Layer.scoped(
      Telephony,
      Effect.map(started, (made) => {
        made.carrier.faults.intercept = intercept
        return made.telephony
      })
    )
  const answers = (status: number, body: (response: ServerResponse) => string) =>
    faulty((_, response) => {
      response.writeHead(status, { "content-type": "application/json" }).end(body(response))
      return true
    })
  const phoneAt = (at: Carrier): Phone => ({
    dial: (numbers) =>
      Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => at.dial(numbers)),
          (call) => end(call, at)
        ),
        (call) => phoneOf(call, at)
      ),
    messages: () => at.messages,
    text: at.text,
    other: (behaves) =>
      Effect.sync((): OtherPhone => {
        const number = `+1202555${String(7000 + phones++)}`
        at.addPhone(number, behaves)
        const call = calledPhone(() => {
          const placed = at.callTo(number)
          return placed === undefined ? undefined : phoneOf(placed, at)
        })
        return { number, call }
      })
  })

  telephonySuite({
    name,
    layer: Layer.scoped(
      Telephony,
      Effect.map(started, (made) => {
        carrier = made.carrier
        return made.telephony
      })
    ),
    deadline: "8 seconds",
    sessions: 100,
    refusesSms: "+12025550000",
    forSale: { country: "US", type: "local", refused: "+12125559999" },
    faults: {
      refuses: answers(401, () => unauthorized),
      hangs: faulty(() => true),
      closesEarly: faulty((_, response) => {
        response.destroy()
        return true
      }),
      sendsGarbage: answers(200, garbage)
    },
    openAtPeer: Effect.sync(() => [...current().calls.values()].filter(({ hasStream }) => hasStream).length),
    phone: () => Effect.sync(() => phoneAt(current()))
  })
}
