import { describe, expect, it } from "@effect/vitest"
import { flushAfterMs } from "@svc/providers/BatchedMedia"
import type { RouteSocket } from "@svc/providers/Route"
import * as SharedTimeout from "@svc/providers/SharedTimeout"
import { Effect } from "effect"
import type { DestinationState } from "../src/CallNetwork.ts"
import { TwilioCall } from "../src/TwilioCall.ts"
import { listen, summary } from "./TestCalls.ts"

/** A call that transfers, with a clock and answers of Twilio that the test sets. */
const transferring = Effect.gen(function* () {
  const flushAfter = yield* SharedTimeout.make(flushAfterMs)
  let now = 0
  const asked: Array<(state: DestinationState) => void> = []
  const updates: Array<string> = []
  let closed: (code: number) => void = () => {}
  const socket: RouteSocket = {
    send: () => {},
    bufferedBytes: () => 0,
    close: () => {},
    onMessage: () => {},
    onClose: (handler) => {
      closed = handler
    }
  }
  const call = new TwilioCall({
    sid: "CA1",
    callerId: undefined,
    socket,
    streamSid: "MZ1",
    network: {
      now: () => now,
      flushAfter,
      connect: () => ({ twiml: "connect", forget: () => {} }),
      dial: () => "dial",
      update: (_, twiml) => void updates.push(twiml),
      hangUp: (_, done) => done(),
      ask: () => {},
      askDestination: (_, answered) => void asked.push(answered),
      onOver: () => {},
      onInterrupted: () => {}
    }
  })
  const events = listen(call.leg)
  const at = (ms: number): number => {
    now = ms
    call.check()
    return asked.length
  }
  call.leg.transferBlind?.("+12025557777")
  return { call, at, asked, updates, tags: () => events.map(summary), endStream: () => closed(1000) }
})

describe("A transfer of Twilio whose outcome is not reported", () => {
  it.scoped("is asked for every 2 s when the stream has ended, and is complete when the destination has answered", () =>
    Effect.gen(function* () {
      const { asked, at, endStream, tags } = yield* transferring
      expect(at(5000)).toBe(0)
      endStream()
      expect([at(5250), at(7000)]).toEqual([1, 1])
      asked[0]?.("ringing")
      expect([at(7200), at(7250)]).toEqual([1, 2])
      asked[1]?.("unknown")
      expect(at(9250)).toBe(3)
      asked[2]?.("answered")
      expect(tags()).toEqual(["media off", "transfer completed"])
      expect(at(30_000)).toBe(3)
    })
  )

  it.scoped("is asked for again at its limit, and the caller comes back only when Twilio knows of no answer", () =>
    Effect.gen(function* () {
      const { asked, at, call, endStream, tags, updates } = yield* transferring
      endStream()
      expect(at(2000)).toBe(1)
      asked[0]?.("none")
      expect(at(28_000)).toBe(2)
      asked[1]?.("unknown")
      expect([updates, at(30_000)]).toEqual([["dial"], 3])
      asked[2]?.("none")
      expect([updates, tags(), call.isOver]).toEqual([["dial", "connect"], ["media off"], false])
    })
  )
})
