import { describe, expect, it } from "@effect/vitest"
import { textToSpeechChecks } from "@svc/providers/testing/TextToSpeechChecks"
import { speaks } from "../src/testing/EmulatedCartesia.ts"
import { speechOf } from "./Provided.ts"

const leaks = textToSpeechChecks({ layer: speechOf(speaks()), sessions: 1000 }).filter(({ name }) =>
  name.includes("leave no fibers, timers or sockets behind")
)

describe("a thousand turns", () => {
  it("have a check", () => expect(leaks).toHaveLength(1))

  for (const { effect, name } of leaks) it.live(name, () => effect, 120_000)
})
