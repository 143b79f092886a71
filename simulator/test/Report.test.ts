import { expect, it } from "vitest"
import { Update } from "../src/PhoneInput.ts"
import { reduce } from "../src/PhoneReducer.ts"
import { initial } from "../src/PhoneState.ts"
import { LiveReport } from "../src/Report.ts"
import { answered, clear, dialled, heard } from "./PhoneInputs.ts"

/** The rows that a report prints with each input. */
const rows = (inputs: ReadonlyArray<readonly [number, Parameters<typeof reduce>[1]]>) => {
  const report = new LiveReport()
  let state = initial(0)
  return inputs.map(([at, input]) => {
    state = reduce(state, input, at)
    return report.next(state).filter((row) => row.includes("  agent  "))
  })
}
const begin = [
  [0, dialled],
  [1, answered]
] as const

it("an utterance that is cut just after its end is printed with the mark", () => {
  const printed = rows([...begin, [1000, heard("At six, at s", true)], [1030, clear], [1200, Update.Ticked()]])
  expect(printed.slice(2, 4)).toEqual([[], []])
  expect(printed[4]).toEqual(["0:01.0  agent   At six, at s  ✂ barge-in"])
})

it("an utterance that has ended is printed as soon as it cannot be cut any more", () => {
  const printed = rows([...begin, [1000, heard("At six.", true)], [1051, Update.Ticked()]])
  expect(printed.slice(2)).toEqual([[], ["0:01.0  agent   At six."]])
})
