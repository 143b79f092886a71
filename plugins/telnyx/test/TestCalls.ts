import { mulaw8k } from "@svc/providers/Audio"
import type { CallEvent, CallLeg, IncomingCall } from "@svc/providers/Telephony"
import type { EmulatedRequest } from "@svc/providers/testing/EmulatedServer"
import { Effect, Queue, type Scope, Stream } from "effect"
import type { EmulatedCall } from "../src/testing/EmulatedCall.ts"
import type { TelnyxSetup } from "../src/testing/TelnyxSetup.ts"

export const numbers = { from: "+12025550100", to: "+12025550199" }

/** Waits until a condition holds; the test's own limit ends it. */
export const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => (condition() ? Effect.void : Effect.zipRight(Effect.sleep(5), until(condition))))

/** The calls that the plugin offers. */
export const incomingOf = ({
  telephony
}: TelnyxSetup): Effect.Effect<Queue.Dequeue<IncomingCall>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const calls = yield* Queue.unbounded<IncomingCall>()
    yield* Effect.forkScoped(Stream.runForEach(telephony.incoming, (call) => Queue.offer(calls, call)))
    return calls
  })

/** The events of a leg. */
export const heardOn = (leg: CallLeg): Array<CallEvent> => {
  const events: Array<CallEvent> = []
  leg.listen(
    (event) => void events.push(event._tag === "Audio" ? { ...event, payload: new Uint8Array(event.payload) } : event)
  )
  return events
}

export const tags = (events: ReadonlyArray<CallEvent>): ReadonlyArray<string> =>
  events.flatMap((event) => {
    switch (event._tag) {
      case "Audio":
        return []
      case "Media":
        return [`Media ${event.on ? "on" : "off"}`]
      case "TransferProgress":
        return [`Transfer ${event.state}`]
      case "Ended":
        return [`Ended ${event.cause}`]
      case "Answerer":
        return [`Answerer ${event.verdict}`]
      default:
        return [event._tag]
    }
  })

/** A call that was answered. */
export interface Answered {
  readonly phone: EmulatedCall
  readonly leg: CallLeg
  readonly events: ReadonlyArray<CallEvent>
}

export const answered = (setup: TelnyxSetup, calls: Queue.Dequeue<IncomingCall>): Effect.Effect<Answered> =>
  Effect.gen(function* () {
    const phone = setup.carrier.dial(numbers)
    const call = yield* Queue.take(calls)
    const leg = yield* Effect.orDie(call.answer({ callId: "call_test", formats: [mulaw8k] }))
    return { phone, leg, events: heardOn(leg) }
  })

/** The commands of an action that the carrier has got. */
export const commandsOf = ({ carrier }: TelnyxSetup, action: string): ReadonlyArray<EmulatedRequest> =>
  carrier.requests.filter(({ path }) => path.endsWith(`/actions/${action}`))

export const frame = (value: number): Uint8Array => new Uint8Array(160).fill(value)
