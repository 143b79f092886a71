import { readFileSync } from "node:fs"
import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { textAt } from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as Browser from "../src/blackbox/Browser.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import * as Line from "../src/blackbox/Line.ts"

const script = {
  rules: [
    { user: "order", tool: "find_order", arguments: { id: 7 } },
    { tool_result: "find_order", say: "It is {{result.state}}." }
  ],
  otherwise: "Ok {{user}}."
}
const tool = { name: "find_order", description: "Finds an order", parameters: { type: "object", properties: {} } }

/** A live recorded call to an agent with a tool, and the address of its debug page. */
const running = Effect.gen(function* () {
  const server = yield* BlackBox
  const line = yield* Line.open(
    server,
    ({ event }) =>
      event === "tool.call"
        ? { json: { result: { state: "on its way" } } }
        : Line.configuration(script, { tools: [tool], language: "xx" }),
    { recording: true, webhook_url: "http://127.0.0.1:9/nobody" }
  )
  const { callId, phone } = yield* line.call
  const link = yield* server.api.get(`/v1/calls/${callId}/debug-link`)
  return { server, callId, phone, url: server.url + textAt(link.body, "url") }
})

const looks: ReadonlyArray<Browser.Look> = [
  { scheme: "light", width: 1280 },
  { scheme: "dark", width: 1280 },
  { scheme: "light", width: 390 },
  { scheme: "dark", width: 390 }
]

describe("The debug page in a browser", () => {
  layer(BlackBox.layer, { excludeTestServices: true, timeout: "60 seconds" })("of a server", (it) => {
    it.scoped("follows a live call, keeps opened sections open, and plays the recording at the end", () =>
      Effect.gen(function* () {
        const { callId, phone, server, url } = yield* running
        const { faults, page } = yield* Browser.open(yield* Browser.launch, url, { scheme: "light", width: 1200 })
        const shows = (text: string | RegExp) => Effect.promise(() => page.getByText(text).first().waitFor())
        yield* shows(callId)
        yield* shows(/left out: language must be a supported/)
        yield* phone.hears("Hello.")
        yield* Effect.promise(() =>
          page.locator("details", { hasText: "call.started" }).first().locator("summary").click()
        )
        phone.say("Where is my order")
        yield* phone.hears("It is on its way.")
        yield* shows("It is on its way.")
        // A request to the agent's server and its answer, complete.
        const request = page.locator("details", { hasText: "tool.call" }).first()
        yield* Effect.promise(() => request.locator("summary").click())
        yield* Effect.promise(() => request.getByText(`"state": "on its way"`).waitFor())
        phone.hangup()
        yield* CallRecords.settled(server.api, callId)
        yield* shows("completed")
        expect(yield* Browser.soundSeconds(page)).toBeGreaterThan(3)
        expect(yield* Effect.promise(() => request.getAttribute("open"))).not.toBe(null)
        yield* Effect.promise(() => page.getByRole("button", { name: "Copy id" }).click())
        yield* shows("Copied.")
        const saved = yield* Effect.promise(async () => {
          const download = page.waitForEvent("download")
          await page.getByRole("button", { name: "Save as script" }).press("Enter")
          return (await download).path()
        })
        const script = readFileSync(saved, "utf8")
        for (const line of [`  - say: "Where is my order"`, "  - hangup: true", `"tools_called":["find_order"]`]) {
          expect(script).toContain(line)
        }
        expect(faults).toEqual([])
      })
    )

    it.scoped("begins with the cause when the agent's server answers badly", () =>
      Effect.gen(function* () {
        const server = yield* BlackBox
        const line = yield* Line.open(server, () => ({
          write: (response) => void response.writeHead(404, { "content-type": "text/html" }).end("<html>Nothing</html>")
        }))
        const phone = yield* line.phone
        phone.send({ event: "dial", to: line.number, from: Line.caller })
        yield* phone.until("hangup")
        const calls = yield* server.api.get(`/v1/calls?agent_id=${line.agentId}`)
        const callId = textAt(calls.body, "calls.0.call_id")
        yield* CallRecords.settled(server.api, callId)
        const link = yield* server.api.get(`/v1/calls/${callId}/debug-link`)
        const { faults, page } = yield* Browser.open(yield* Browser.launch, server.url + textAt(link.body, "url"), {
          scheme: "light",
          width: 390
        })
        const texts = yield* Effect.promise(() => page.getByRole("heading").allTextContents())
        expect(texts.slice(0, 3)).toEqual([
          expect.stringContaining("failed"),
          "Why it failed: call.started",
          "Transcript"
        ])
        const cause = yield* Effect.promise(() => page.locator(".cause").textContent())
        expect(cause).toMatch(/POST http:.* answered 404 with text\/html in \d+ ms/)
        expect(cause).toContain("Set the agent's server_url")
        expect(yield* Browser.fits(page)).toBe(true)
        expect(faults).toEqual([])
      })
    )

    it.scoped("is readable on wide and narrow screens, in light and dark", () =>
      Effect.gen(function* () {
        const { callId, phone, server, url } = yield* running
        yield* phone.hears("Hello.")
        phone.say("Where is my order")
        yield* phone.hears("It is on its way.")
        phone.hangup()
        yield* CallRecords.settled(server.api, callId)
        const browser = yield* Browser.launch
        const grounds = yield* Effect.forEach(looks, (look) =>
          Effect.gen(function* () {
            const { faults, page } = yield* Browser.open(browser, url, look)
            yield* Effect.promise(() => page.getByText("Timeline").waitFor())
            expect([look, yield* Browser.fits(page)]).toEqual([look, true])
            for (const part of [
              "h1",
              "dt",
              "dd",
              "time",
              ".what",
              ".agent",
              ".caller",
              ".tool",
              ".model",
              ".bad",
              ".good",
              "button",
              ".warnings h2",
              ".faint"
            ]) {
              expect([look, part, (yield* Browser.contrast(page, part)) >= 4.5]).toEqual([look, part, true])
            }
            expect(faults).toEqual([])
            return yield* Effect.promise(() => page.evaluate<string>("getComputedStyle(document.body).backgroundColor"))
          })
        )
        expect(grounds[0]).toBe(grounds[2])
        expect(grounds[1]).toBe(grounds[3])
        expect(grounds[0]).not.toBe(grounds[1])
      })
    )
  })
})
