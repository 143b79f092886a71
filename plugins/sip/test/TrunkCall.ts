import { type CallEvent, Telephony } from "@svc/providers/Telephony"
import { Effect, Fiber, Queue } from "effect"
import * as Dialog from "../src/dialog/Dialog.ts"
import type * as Message from "../src/message/Message.ts"
import type { Settings } from "../src/Settings.ts"
import type * as SipTelephony from "../src/SipTelephony.ts"
import { scriptedTrunk } from "./ScriptedTrunk.ts"
import { plugin } from "./SipPhones.ts"

export type Trunk = Effect.Effect.Success<ReturnType<typeof scriptedTrunk>>

const formats = [{ encoding: "alaw", sampleRate: 8000 }] as const

/** A request of a dialog with a Via of the trunk. */
const withVia = (request: ReturnType<typeof Dialog.request>[1], trunk: Trunk, branch: string) => ({
  ...request,
  headers: [{ name: "via", value: `SIP/2.0/UDP 127.0.0.1:${trunk.port};branch=${branch}` }, ...request.headers]
})

/** The trunk's description with more lines. */
const describedWith = ({ sdp }: Trunk, lines: ReadonlyArray<string>): Buffer =>
  Buffer.concat([sdp, Buffer.from(lines.map((line) => `${line}\r\n`).join(""))])

/** An answered call through the trunk, its dialog from the trunk's side, and the events of its leg. `lines` are added to its answer. */
export const connected = (trunk: Trunk, headers: Message.Headers = [], lines: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const { outbound } = yield* Telephony
    if (outbound === undefined) return yield* Effect.dieMessage("no trunk")
    const call = yield* Effect.fork(outbound.dial({ callId: "c", to: "+4930", from: "+4989", formats }))
    const invite = yield* trunk.request("INVITE")
    trunk.respond(invite, 200, headers, describedWith(trunk, lines))
    const leg = yield* Effect.orDie(Fiber.join(call))
    yield* trunk.request("ACK")
    const events = yield* Queue.unbounded<CallEvent>()
    let audio = 0
    leg.listen((event) => {
      if (event._tag !== "Audio") Queue.unsafeOffer(events, event)
      else if (event.payload.length > 0) audio++
    })
    let dialog = Dialog.ofInvite(invite, "trunk")
    /** Sends a request of the trunk in the call, and gives the response to it. */
    const ask = (method: string, content: Dialog.Content = {}) =>
      Effect.gen(function* () {
        const [next, request] = Dialog.request(dialog, method, content)
        dialog = next
        trunk.send(withVia(request, trunk, `z9hG4bK${method}${next.localNumber}`))
        return yield* trunk.response(method)
      })
    /** Changes the session by re-INVITE; `lines` are added to the trunk's description. */
    const reinvite = (...lines: ReadonlyArray<string>) =>
      Effect.gen(function* () {
        const body = describedWith(trunk, lines)
        const headers = [{ name: "content-type", value: "application/sdp" }]
        const answer = yield* ask("INVITE", { headers, body })
        trunk.acknowledge(answer, dialog.localNumber)
        // Once the ACK has been read.
        yield* trunk.ping
        return answer
      })
    return { ask, audio: () => audio, events, invite, leg, number: () => dialog.localNumber, reinvite, trunk }
  })

export type TrunkCall = Effect.Effect.Success<ReturnType<typeof connected>>

/** Runs a test with an answered call through a scripted trunk, all on free ports. */
export const withTrunkCall = <E>(
  run: (call: TrunkCall) => Effect.Effect<void, E>,
  settings: Partial<Settings> = {},
  replacements: SipTelephony.Replacements = {},
  lines: ReadonlyArray<string> = []
) =>
  Effect.gen(function* () {
    const trunk = yield* scriptedTrunk()
    const trunkUri = `sip:127.0.0.1:${trunk.port}`
    const layer = plugin(0, { trunkUri, rtpPorts: "30200-30399", ...settings }, replacements)
    yield* Effect.provide(Effect.flatMap(connected(trunk, [], lines), run), layer)
  }).pipe(Effect.scoped)
