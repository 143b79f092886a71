import { noLine, noUsage } from "@svc/api/calls/CallUsage"
import { describe, expect, it } from "vitest"
import { recordOf } from "../../src/CallRecord.ts"
import { Script } from "../../src/testing/Script.ts"

const usage = (input_tokens: number, cached_input_tokens: number, output_tokens: number) =>
  ({ _tag: "ModelUsed", input_tokens, cached_input_tokens, output_tokens }) as const

const media = {
  tts: { characters: 40, cached_characters: 12 },
  stt: { seconds: 3.2 },
  line: { ...noLine, codec: "PCMU" as const, packets_lost: 2 }
}

const llm = (s: Script) => recordOf(s.state).usage.llm

describe("usage of the language model", () => {
  it("counts each request, and the tokens that are reported", () => {
    const s = Script.greeted().say("One")
    expect(llm(s)).toEqual({ requests: 1, input_tokens: 0, cached_input_tokens: 0, output_tokens: 0 })
    s.input(usage(900, 512, 20)).input({ _tag: "ModelSentence", turn: 1, text: "Ok." })
    s.input({ _tag: "ModelDone", turn: 1 })
      .play("u1")
      .say("Two")
      .input(usage(950, 896, 10))
    expect(llm(s)).toEqual({ requests: 2, input_tokens: 1850, cached_input_tokens: 1408, output_tokens: 30 })
  })

  it("counts a request that the caller interrupts, one that fails, and the one to the fallback", () => {
    const s = Script.greeted({}, { providers: { recognizers: ["provider"], models: 2, voices: 1 } }).say("One")
    s.input({ _tag: "ModelFailed", turn: 1, reason: "503" })
    expect(llm(s).requests).toBe(2)
    s.say("Stop").input(usage(100, 0, 1))
    expect(llm(s)).toMatchObject({ requests: 3, input_tokens: 100 })
  })

  it("counts the extraction after the call, and every further model that is asked for it", () => {
    const s = Script.greeted({ extraction: [{ name: "name", type: "string" }] }).say("One")
    s.input({ _tag: "CallerHungUp" })
    expect(s.state.phase).toBe("post_call")
    s.input({ ...usage(0, 0, 0), is_retry: true }).input(usage(200, 0, 7))
    expect(llm(s)).toEqual({ requests: 3, input_tokens: 200, cached_input_tokens: 0, output_tokens: 7 })
    s.input({ _tag: "Extracted", answer: { name: "Anna" } })
    expect(s.state.phase).toBe("over")
  })

  it("takes no counts that no request can have", () => {
    const s = Script.greeted()
      .say("One")
      .input(usage(-5, 3, Number.NaN))
      .input(usage(10.4, 50, 2))
    expect(llm(s)).toEqual({ requests: 1, input_tokens: 10, cached_input_tokens: 10, output_tokens: 2 })
  })
})

describe("usage of the media, and the line", () => {
  it("is as last reported, also after the end, and changes nothing else", () => {
    const s = Script.greeted()
    expect(recordOf(s.state)).toMatchObject({ usage: noUsage, line: noLine })
    s.input({ _tag: "CallerHungUp" })
    const { usage: _, line: __, ...before } = s.state
    s.take()
    s.input({ _tag: "MediaReported", ...media })
    expect(s.take()).toEqual([])
    const { usage: after, line, ...rest } = s.state
    expect(rest).toEqual(before)
    expect(line).toEqual(media.line)
    expect(after).toEqual({ ...noUsage, tts: media.tts, stt: media.stt })
  })
})
