import { describe, expect, it } from "@effect/vitest"
import { voiceNames } from "../src/VoiceNames.ts"

describe("voiceNames", () => {
  it("are short, and longer where another voice has the name, whatever the case", () => {
    const names = ["Ann - Calm", "ann - Loud", "ANN - loud", "Ann", "", " "]
    expect(voiceNames(names.map((name, n) => ({ id: `id-${n}`, name })))).toEqual([
      "Ann",
      "ann - Loud",
      "ANN - loud id-2",
      "Ann id-3",
      "id-4",
      "id-5"
    ])
  })

  it("leave a kept name to its voice, also when that one comes later or is not there", () => {
    const voices = [
      { id: "1", name: "Sarah - First" },
      { id: "2", name: "Something" }
    ]
    expect(voiceNames(voices, { Sarah: "2" })).toEqual(["Sarah - First", "Sarah"])
    expect(voiceNames(voices, { Sarah: "3" })).toEqual(["Sarah - First", "Something"])
  })
})
