import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { digest, replay } from "../src/Replay.ts"
import { render } from "./doubles/Golden.ts"

/** Files are written only by `npm run golden:update`, and never in CI. */
const update = process.env["GOLDEN"] === "update" && process.env["CI"] === undefined

const folder = fileURLToPath(new URL("./golden/", import.meta.url))
const files = readdirSync(folder).filter((name) => name.endsWith(".txt"))

describe("recorded conversations", () => {
  it("are at least 25", () => {
    expect(files.length).toBeGreaterThanOrEqual(25)
  })

  it.each(files)("%s has the recorded inputs and commands", (name) => {
    const written = readFileSync(folder + name, "utf8")
    const { call, facts, text } = render(written)
    if (update) writeFileSync(folder + name, text)
    else expect(text).toBe(written)

    // Its journal replays without a difference.
    const rows = [
      { seq: 0, input: facts, commands: digest(call.first) },
      ...call.steps.map(({ commands, input }, i) => ({ seq: i + 1, input, commands: digest(commands) }))
    ]
    const replayed = replay(JSON.parse(JSON.stringify(rows)))
    expect(replayed?.differing).toEqual([])
    expect(replayed?.state.transcript).toEqual(call.state.transcript)
  })
})
