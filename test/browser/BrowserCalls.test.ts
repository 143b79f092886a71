import { spawnSync } from "node:child_process"
import { createServer } from "node:http"
import { describe, expect, layer } from "@effect/vitest"
import { Resampler } from "@svc/audio/Resampler"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Context, Effect, Layer, type Scope } from "effect"
import type { Browser as Chromium, Page } from "playwright-core"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import * as Browser from "../src/blackbox/Browser.ts"
import * as Sound from "../src/blackbox/BrowserSound.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import * as TcpProxy from "../src/blackbox/TcpProxy.ts"

/** The origin of a customer's page; the server's is another. */
const customerPort = 18_080
const customerOrigin = `http://localhost:${customerPort}`

const env = { SVC_PLUGINS: "@svc/plugin-simulated,@svc/plugin-browser", SVC_BROWSER_ORIGINS: customerOrigin }

class Server extends Context.Tag("@svc/test/BrowserCallsServer")<
  Server,
  ServerProcess.ServerProcess & { readonly options: ServerProcess.ServerOptions }
>() {
  static readonly layer = Layer.scoped(
    Server,
    Effect.gen(function* () {
      const options = { data: { url: yield* TestDatabase.freshUrl }, keys: yield* ServerProcess.newKeys, env }
      return { ...(yield* ServerProcess.start(options)), options }
    })
  )
}

const phone = { scheme: "light", width: 390 } as const

/** An agent, and the path of a link to it. */
const agentAt = (server: ServerProcess.ServerProcess, more: { readonly [field: string]: unknown } = {}) =>
  Effect.gen(function* () {
    const line = yield* Line.open(server, () => Line.configuration({ otherwise: "Ok {{user}}." }, more))
    const { body } = yield* server.api.post(`/v1/agents/${line.agentId}/browser-calls`, { max_calls: 5 })
    const token = ApiClient.textAt(body, "token")
    const last = Effect.map(server.api.get(`/v1/calls?agent_id=${line.agentId}`), ({ body }) =>
      ApiClient.textAt(body, "calls.0.call_id")
    )
    return { line, token, path: `/telephony/browser/${token}`, last }
  })

const button = (page: Page, name: string) => page.getByRole("button", { name })
const click = (page: Page, name: string) => Effect.promise(() => button(page, name).click())
const shows = (page: Page, text: string | RegExp) => Effect.promise(() => page.getByText(text).first().waitFor())
const textOf = (page: Page, selector: string) => Effect.promise(() => page.locator(selector).textContent())

/** Words of a real voice, at the microphone's rate. */
const spoken = (text: string): Int16Array => {
  const { stdout } = spawnSync("espeak-ng", ["-v", "en-us", "--stdout", text], { maxBuffer: 2 ** 26 })
  const rate = stdout.readUInt32LE(24)
  const resampler = new Resampler(rate, Sound.microphoneRate)
  const pcm = new Int16Array(
    stdout.buffer.slice(stdout.byteOffset + 44, stdout.byteOffset + stdout.length - (stdout.length % 2))
  )
  return Int16Array.from([...resampler.push(pcm), ...resampler.end()])
}

/** A page in a call whose greeting it has heard. */
const calling = (chromium: Chromium, url: string): Effect.Effect<Browser.OpenPage, never, Scope.Scope> =>
  Effect.gen(function* () {
    const opened = yield* Browser.open(chromium, url, phone, (page) =>
      Effect.zipRight(Sound.takeTones(page), Sound.record(page))
    )
    yield* click(opened.page, "Start call")
    yield* shows(opened.page, "Hello.")
    yield* shows(opened.page, "Listening")
    return opened
  })

describe("Browser calls in a browser", () => {
  layer(Server.layer, { excludeTestServices: true, timeout: "90 seconds" })("of a server", (it) => {
    it.scoped("a caller's speech goes through the whole path, and the answer comes out of the loudspeaker", () =>
      Effect.gen(function* () {
        const server = yield* Server
        const { last, path } = yield* agentAt(server)
        const file = yield* Sound.microphoneFile([Sound.silence(6), Sound.toneSpeech("Hello there"), Sound.silence(60)])
        const { faults, hosts, page } = yield* calling(yield* Browser.launchWithMicrophone(file), server.url + path)
        yield* shows(page, "Ok Hello there.")
        yield* Effect.promise(() => page.getByText("Listening").waitFor())
        // It listens again when the last word was heard.
        const { loudspeaker, microphone, rate } = yield* Sound.recorded(page)
        expect(Sound.heard(microphone, rate)).toEqual(["Hello there"])
        // A busy machine may be late in the middle of a word; nothing is lost or comes twice.
        expect(Sound.heard(loudspeaker, rate).join("")).toBe("Hello.Ok Hello there.")
        const said = Sound.stretches(microphone, rate).at(-1)?.to ?? Number.NaN
        const answered = Sound.stretches(loudspeaker, rate).at(-1)?.from ?? Number.NaN
        console.log(`last spoken sample → first heard sample: ${Math.round((answered - said) * 1000)} ms`)
        expect(yield* textOf(page, "#latency")).toMatch(/^Answered after \d\.\d\d s$/)
        expect([...hosts]).toEqual([new URL(server.url).host])

        yield* click(page, "Mute")
        expect(yield* Effect.promise(() => button(page, "Mute").getAttribute("aria-pressed"))).toBe("true")
        yield* click(page, "Keypad")
        yield* click(page, "7")
        yield* Effect.promise(() => page.keyboard.press("#"))
        yield* click(page, "Hang up")
        yield* shows(page, "Call ended")
        // Four calls are left.
        yield* Effect.promise(() => button(page, "Start call").waitFor())
        const callId = yield* last
        yield* CallRecords.settled(server.api, callId)
        const { body } = yield* server.api.get(`/v1/calls/${callId}`)
        expect(CallRecords.spoken(body)).toEqual([
          "assistant: Hello.",
          "user: Hello there",
          "assistant: Ok Hello there."
        ])
        expect(body).toMatchObject({ ended_reason: "caller-hangup", line: { codec: "L16" } })
        const { body: timeline } = yield* server.api.get(`/v1/calls/${callId}/timeline`)
        expect(JSON.stringify(timeline["events"]).match(/dtmf/g)?.length).toBeGreaterThanOrEqual(2)
        expect(faults).toEqual([])
      })
    )

    it.scoped(
      "sends nothing of a silent microphone, and what is said after it whole, from its first soft letter on",
      () =>
        Effect.gen(function* () {
          const server = yield* Server
          const { path } = yield* agentAt(server)
          const words = spoken("Fish and chips, please. And six.")
          const file = yield* Sound.microphoneFile([Sound.silence(6), words, Sound.silence(60)])
          let sent: ReadonlyArray<Int16Array> = []
          const chromium = yield* Browser.launchWithMicrophone(file)
          const { page } = yield* Browser.open(chromium, server.url + path, phone, (page) => {
            sent = Sound.sentBy(page)
            return Effect.zipRight(Sound.takeTones(page), Sound.record(page))
          })
          yield* click(page, "Start call")
          yield* Sound.recordedFor(page, 9 + words.length / Sound.microphoneRate)
          // A frame at a time for 0.6 s, nothing, and 300 ms at once when it begins.
          const opening = sent.findIndex(({ length }) => length > 320)
          expect(opening).toBeGreaterThan(0)
          expect(opening).toBeLessThanOrEqual(35)
          expect(sent[opening]).toHaveLength(16 * 320)
          const speech = Float32Array.from(
            sent.slice(opening).flatMap((samples) => [...samples]),
            (sample) => sample / 32_768
          )
          const options = { level: 0.003, pause: 1 }
          const heard = Sound.stretches(speech, 16_000, options)
          expect(heard).toHaveLength(1)
          const lengthOf = (part: { readonly from: number; readonly to: number } | undefined) =>
            part === undefined ? Number.NaN : part.to - part.from
          const [original] = Sound.stretches(
            Float32Array.from(words, (sample) => sample / 32_768),
            Sound.microphoneRate,
            options
          )
          expect(Math.abs(lengthOf(heard[0]) - lengthOf(original))).toBeLessThan(0.03)
          const tail = speech.length / 16_000 - (heard[0]?.to ?? Number.NaN)
          expect([(heard[0]?.from ?? 0) > 0.25, tail > 0.55, tail < 0.7]).toEqual([true, true, true])
        })
    )

    it.scoped("real speech stops the agent at the loudspeaker within interrupt_after_ms and 150 ms", () =>
      Effect.gen(function* () {
        const server = yield* Server
        const interrupt_after_ms = 500
        const { path } = yield* agentAt(server, {
          first_message: "This is a long greeting which goes on and on. ".repeat(40),
          turn_taking: { interrupt_after_ms }
        })
        const words = spoken("Excuse me please, I have a question about my order.")
        const file = yield* Sound.microphoneFile([Sound.silence(5), words, Sound.silence(60)])
        const wanted = 7 + words.length / Sound.microphoneRate
        const once = Effect.gen(function* () {
          const chromium = yield* Browser.launchWithMicrophone(file)
          const { page } = yield* Browser.open(chromium, server.url + path, phone, Sound.record)
          yield* click(page, "Start call")
          yield* Sound.recordedFor(page, wanted)
          const { loudspeaker, microphone, rate } = yield* Sound.recorded(page)
          const from = Sound.stretches(microphone, rate, { level: 0.02, pause: 1 })[0]?.from ?? Number.NaN
          // A busy machine may be late in the middle of a word.
          const agent = Sound.stretches(loudspeaker, rate, { pause: 0.3 }).find(
            (part) => part.from < from && part.to > from
          )
          return Math.round(((agent?.to ?? Number.NaN) - from) * 1000)
        }).pipe(Effect.scoped)
        // What takes longer has waited for the processor, which the browser shares: such an attempt says nothing.
        const delay = yield* once.pipe(
          Effect.tap((ms) =>
            Effect.sync(() =>
              console.log(`speech → silent loudspeaker: ${ms} ms, interrupt_after_ms ${interrupt_after_ms}`)
            )
          ),
          Effect.repeat({ until: (ms) => ms <= interrupt_after_ms + 150, times: 2 })
        )
        expect(delay).toBeLessThanOrEqual(interrupt_after_ms + 150)
        // Not by chance: speech must last for so long.
        expect(delay).toBeGreaterThanOrEqual(interrupt_after_ms - 150)
      })
    )

    it.scoped("says what to do without a permission, without a microphone, and with a link that is used up", () =>
      Effect.gen(function* () {
        const server = yield* Server
        const { path } = yield* agentAt(server)
        const refused = yield* Browser.launchWith(["--use-fake-device-for-media-stream", "--deny-permission-prompts"])
        for (const [error, text] of [
          [undefined, /The microphone is blocked. Allow it/],
          ["NotFoundError", /No microphone was found. Connect one/],
          ["NotReadableError", /The microphone cannot be opened. Close other programs/]
        ] as const) {
          const { faults, page } = yield* Browser.open(refused, server.url + path, phone, (page) =>
            error === undefined ? Effect.void : Sound.failWith(page, error)
          )
          yield* click(page, "Start call")
          yield* Effect.promise(() => page.getByRole("alert").getByText(text).waitFor())
          yield* Effect.promise(() => button(page, "Start call").waitFor())
          expect(faults).toEqual([])
        }
        const { line } = yield* agentAt(server)
        const { body } = yield* server.api.post(`/v1/agents/${line.agentId}/browser-calls`, {})
        const url = `${server.url}/telephony/browser/${ApiClient.textAt(body, "token")}`
        const chromium = yield* Browser.launchWithMicrophone(yield* Sound.microphoneFile([Sound.silence(60)]))
        const { page: second } = yield* Browser.open(chromium, url, phone)
        const { page: first } = yield* calling(chromium, url)
        yield* click(second, "Start call")
        yield* Effect.promise(() =>
          second
            .getByRole("alert")
            .getByText(/This link has expired or was used/)
            .waitFor()
        )
        // Leaving the page hangs up.
        yield* Effect.promise(() => first.goto("about:blank"))
        const { body: calls } = yield* server.api.get(`/v1/calls?agent_id=${line.agentId}`)
        const callId = ApiClient.textAt(calls, "calls.0.call_id")
        yield* CallRecords.settled(server.api, callId)
        expect((yield* server.api.get(`/v1/calls/${callId}`)).body["ended_reason"]).toBe("caller-hangup")
      })
    )

    it.scoped("goes on after 3 s without network; after 10 s, and after a restart, says that the call has ended", () =>
      Effect.gen(function* () {
        const server = yield* Server
        const { last, path } = yield* agentAt(server)
        const network = yield* TcpProxy.start(server.url)
        const file = yield* Sound.microphoneFile([Sound.silence(14), Sound.toneSpeech("Still here"), Sound.silence(60)])
        const chromium = yield* Browser.launchWithMicrophone(file)
        const { page } = yield* calling(chromium, network.url + path)
        network.cut()
        yield* shows(page, "Connection lost: reconnecting …")
        yield* Effect.promise(() => page.waitForTimeout(3000))
        network.restore()
        yield* Effect.promise(() => page.getByText("Listening").waitFor())
        yield* shows(page, "Ok Still here.")
        yield* Effect.promise(() => page.getByText("Listening").waitFor())
        const { loudspeaker, rate } = yield* Sound.recorded(page)
        expect(Sound.heard(loudspeaker, rate).join("")).toBe("Hello.Ok Still here.")
        network.cut()
        yield* Effect.promise(() =>
          page
            .getByRole("alert")
            .getByText(/gone for more than 10 seconds/)
            .waitFor()
        )
        yield* shows(page, "Call ended")
        const callId = yield* last
        yield* CallRecords.settled(server.api, callId)
        const { body } = yield* server.api.get(`/v1/calls/${callId}`)
        expect(body).toMatchObject({ status: "failed", ended_reason: "error" })
        expect(CallRecords.spoken(body)).toEqual(["assistant: Hello.", "user: Still here", "assistant: Ok Still here."])

        network.restore()
        const other = yield* ServerProcess.start(server.options)
        const { page: restarted } = yield* calling(chromium, network.url + path)
        network.leadTo(other.url)
        network.cut()
        network.restore()
        yield* Effect.promise(() =>
          restarted
            .getByRole("alert")
            .getByText(/The server was restarted/)
            .waitFor()
        )
      })
    )

    it.scoped("goes on with another microphone when one is unplugged, and when the browser has stopped the sound", () =>
      Effect.gen(function* () {
        const server = yield* Server
        const { path } = yield* agentAt(server)
        const file = yield* Sound.microphoneFile([Sound.silence(60)])
        const { page } = yield* calling(yield* Browser.launchWithMicrophone(file), server.url + path)
        yield* Effect.promise(() => page.evaluate(`streams[0].getTracks()[0].dispatchEvent(new Event("ended"))`))
        yield* shows(page, "The microphone was unplugged. The call goes on with another one.")
        expect(yield* Effect.promise(() => page.evaluate("streams.length"))).toBe(2)
        yield* Effect.promise(() => page.evaluate("contexts[0].suspend()"))
        yield* shows(page, /The browser has stopped the sound/)
        yield* click(page, "Continue")
        yield* Effect.promise(() => button(page, "Continue").waitFor({ state: "hidden" }))
        expect(yield* Effect.promise(() => page.evaluate("contexts[0].state"))).toBe("running")
        yield* click(page, "Hang up")
        // Nothing listens on.
        const states = "streams.flatMap((stream) => stream.getTracks().map(({ readyState }) => readyState))"
        expect(yield* Effect.promise(() => page.evaluate(states))).toEqual(["ended", "ended"])
      })
    )

    it.scoped("<svc-call> opens the call on a page of an allowed origin, and on no other", () =>
      Effect.gen(function* () {
        const server = yield* Server
        const { last, token } = yield* agentAt(server)
        const html = `<!doctype html><title>Shop</title><script src="${server.url}/telephony/browser/svc-call.js"></script>
          <svc-call token="${token}" label="Talk to us"></svc-call>
          <script>for (const name of ["started", "ended"]) addEventListener("svc-call-" + name, () => document.title = name)</script>`
        const web = createServer((_, response) => response.setHeader("content-type", "text/html").end(html))
        yield* Effect.acquireRelease(
          Effect.async<void>((resume) => void web.listen(customerPort, "127.0.0.1", () => resume(Effect.void))),
          () => Effect.sync(() => void web.close())
        )
        const chromium = yield* Browser.launchWithMicrophone(yield* Sound.microphoneFile([Sound.silence(60)]))
        const { faults, page } = yield* Browser.open(chromium, customerOrigin, { scheme: "light", width: 800 })
        yield* click(page, "Talk to us")
        const frame = page.frameLocator("iframe")
        yield* Effect.promise(() => frame.getByText("Hello.").waitFor())
        expect(yield* Effect.promise(() => page.title())).toBe("started")
        yield* click(page, "Close")
        yield* CallRecords.settled(server.api, yield* last)
        expect((yield* server.api.get(`/v1/calls/${yield* last}`)).body["ended_reason"]).toBe("caller-hangup")
        expect(faults.filter((fault) => !fault.includes("favicon"))).toEqual([])
        const foreign = yield* Browser.open(chromium, `http://127.0.0.1:${customerPort}`, {
          scheme: "light",
          width: 800
        })
        yield* click(foreign.page, "Talk to us")
        yield* eventually(
          "the refusal",
          Effect.sync(() => foreign.faults.join()),
          (all) => /frame-ancestors/.test(all)
        )
      })
    )

    it.scoped("can be read and used on a phone's width, in light and dark, and by keyboard", () =>
      Effect.gen(function* () {
        const server = yield* Server
        const chromium = yield* Browser.launchWithMicrophone(yield* Sound.microphoneFile([Sound.silence(60)]))
        for (const look of [
          { scheme: "light", width: 1280 },
          { scheme: "dark", width: 1280 },
          { scheme: "light", width: 320 },
          { scheme: "dark", width: 390 }
        ] as const) {
          const { path } = yield* agentAt(server)
          const { faults, page } = yield* Browser.open(chromium, server.url + path, look)
          const check = (parts: ReadonlyArray<string>) =>
            Effect.gen(function* () {
              expect([look, yield* Browser.fits(page)]).toEqual([look, true])
              for (const part of parts) {
                expect([look, part, (yield* Browser.contrast(page, part)) >= 4.5]).toEqual([look, part, true])
              }
            })
          yield* check(["h1", "#intro", "#start", "summary"])
          // By keyboard alone: the button is the first stop, and the focus goes on with the call.
          yield* Effect.promise(() => page.keyboard.press("Tab"))
          yield* Effect.promise(() => page.keyboard.press("Enter"))
          yield* shows(page, "Hello.")
          yield* Effect.promise(() => page.locator("#hang-up:focus").waitFor())
          yield* Effect.promise(() => button(page, "Keypad").click())
          yield* Effect.promise(() => page.getByRole("log").getByText("Hello.").waitFor())
          yield* check([
            "#state",
            "#hang-up",
            "#mute",
            "#keypad button",
            "#transcript .agent b",
            "#transcript .agent span"
          ])
          yield* Effect.promise(() => button(page, "Hang up").press("Enter"))
          yield* shows(page, "Call ended")
          // Once the page knows that the link is still open.
          yield* Effect.promise(() => page.locator("#start:focus").waitFor())
          expect(faults).toEqual([])
        }
        const { faults, page } = yield* Browser.open(chromium, `${server.url}/telephony/browser/none`, phone)
        expect(yield* textOf(page, "h1")).toBe("This link does not work")
        expect([yield* Browser.fits(page), (yield* Browser.contrast(page, "p")) >= 4.5]).toEqual([true, true])
        // The page itself.
        expect(faults.filter((fault) => !fault.includes("404"))).toEqual([])
      })
    )
  })
})
