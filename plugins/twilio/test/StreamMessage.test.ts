import { describe, expect, it } from "@effect/vitest"
import { readStreamMessage } from "../src/StreamMessage.ts"

describe("The start message of a media stream of Twilio", () => {
  it("has the streamSid in its start part, at its top level, or in both", () => {
    const start = { callSid: "CA1", customParameters: { token: "t" } }
    const read = { event: "start", streamSid: "MZ1", callSid: "CA1", token: "t" }
    for (const message of [
      { event: "start", streamSid: "MZ1", start },
      { event: "start", start: { ...start, streamSid: "MZ1" } },
      { event: "start", streamSid: "MZ1", start: { ...start, streamSid: "MZ1" } }
    ]) {
      expect(readStreamMessage(JSON.stringify(message))).toEqual(read)
    }
    expect(readStreamMessage(JSON.stringify({ event: "start", start }))).toBeUndefined()
  })
})
