import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import {
  modelFields,
  optionalPlatformTools,
  silencePromptFields,
  speechFields,
  turnTakingFields
} from "@svc/api/callbacks/CallSettings"
import { callStartedFields } from "@svc/api/callbacks/CallStarted"
import { describe, expect, it } from "vitest"
import { defaultTurnTaking } from "../src/answers/CallSettings.ts"
import { render } from "./doubles/Golden.ts"
import { pageTimeline } from "./doubles/PageTimeline.ts"

/** The page is written only by `npm run golden:update`, and never in CI. */
const update = process.env["GOLDEN"] === "update" && process.env["CI"] === undefined

const path = fileURLToPath(new URL("../../../docs/turn-taking.md", import.meta.url))
const folder = fileURLToPath(new URL("./golden/", import.meta.url))

/** A timeline of the page: the recorded conversation, and its part in seconds. */
const block = /```text golden=(\d+) from=([\d.]+) to=([\d.]+)\n([\s\S]*?)\n?```/g

const golden = (number: string): string => {
  const name = readdirSync(folder).find((each) => each.startsWith(`${number}-`))
  if (name === undefined) throw new Error(`there is no recorded conversation ${number}`)
  return readFileSync(folder + name, "utf8")
}

const timeline = (number: string, from: string, to: string): string =>
  pageTimeline(render(golden(number)).call, Number(from), Number(to))

describe("docs/turn-taking.md", () => {
  it("has the timelines of the recorded conversations; `npm run golden:update` writes them", () => {
    const page = readFileSync(path, "utf8")
    const current = page.replaceAll(
      block,
      (_, number: string, from: string, to: string) =>
        `\`\`\`text golden=${number} from=${from} to=${to}\n${timeline(number, from, to)}\n\`\`\``
    )
    if (update) writeFileSync(path, current)
    else expect(current).toBe(page)
  })

  it("has a timeline, with content, in every part that says so", () => {
    const blocks = [...readFileSync(path, "utf8").matchAll(block)]
    expect(blocks.length).toBeGreaterThanOrEqual(10)
    for (const [, number, , , text = ""] of blocks)
      expect([number, text.split("\n").length > 2]).toEqual([number, true])
  })

  it("names every setting, and the defaults of turn_taking", () => {
    const page = readFileSync(path, "utf8")
    const fields = [turnTakingFields, silencePromptFields, modelFields, speechFields].flatMap(Object.keys)
    const top = ["turn_taking", "first_message_interruptible", "silence_prompts", "model", "speech", "platform_tools"]
    expect(top.filter((name) => !(name in callStartedFields))).toEqual([])
    const names = [...fields, ...top, "languages", ...optionalPlatformTools]
    expect(names.filter((name) => !page.includes(name))).toEqual([])
    for (const [name, value] of Object.entries(defaultTurnTaking))
      expect(page).toMatch(new RegExp(`\\| \`turn_taking\\.${name}\` +\\| ${value === null ? "none" : value} `))
  })
})
