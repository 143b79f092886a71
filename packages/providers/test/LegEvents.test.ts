import { describe, expect, it } from "@effect/vitest"
import { LegEvents } from "@svc/providers/LegEvents"
import type { CallEvent } from "@svc/providers/Telephony"

const audio = (...bytes: ReadonlyArray<number>): CallEvent => ({ _tag: "Audio", payload: Uint8Array.from(bytes) })
const ended: CallEvent = { _tag: "Ended", cause: "hangup" }

describe("LegEvents", () => {
  it("keeps events for the listener in their order, also when the bytes of audio are used again", () => {
    const events = new LegEvents()
    const bytes = Uint8Array.of(1)
    events.emit({ _tag: "Audio", payload: bytes })
    bytes[0] = 2
    events.emit({ _tag: "Audio", payload: bytes })
    const heard: Array<CallEvent> = []
    events.listen((event) => heard.push(event))
    events.emit(audio(3))
    expect(heard).toEqual([audio(1), audio(2), audio(3)])
  })

  it("emits nothing after Ended or close", () => {
    const ends: ReadonlyArray<[(events: LegEvents) => void, number]> = [
      [(events) => events.emit(ended), 1],
      [(events) => events.close(), 0]
    ]
    for (const [end, heardEnds] of ends) {
      const events = new LegEvents()
      const heard: Array<string> = []
      events.emit(audio(1))
      expect(events.isOver).toBe(false)
      end(events)
      expect(events.isOver).toBe(true)
      events.emit(audio(2))
      events.emit(ended)
      events.listen(({ _tag }) => heard.push(_tag))
      expect(heard.filter((tag) => tag === "Audio")).toHaveLength(1)
      expect(heard.filter((tag) => tag === "Ended")).toHaveLength(heardEnds)
    }
  })

  it("keeps 600 events of audio at most, and always what is no audio", () => {
    const events = new LegEvents()
    for (let count = 0; count < 700; count++) events.emit(audio(count))
    events.emit(ended)
    const heard: Array<string> = []
    events.listen(({ _tag }) => heard.push(_tag))
    expect([heard.length, heard.at(-1)]).toEqual([601, "Ended"])
  })
})
