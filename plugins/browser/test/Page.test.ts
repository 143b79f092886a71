import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { connectedCall, openPage } from "./PageDouble.ts"

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.doUnmock("../page/CallAudio.js")
})

const inCall = async () => {
  const page = await openPage()
  await page.start()
  await page.receive(...connectedCall)
  return page
}

const shutdown = "The server is being restarted, so the call has ended. Call again in a minute."
const noMoreCalls = "No more calls can start with this link. Ask whoever gave it to you for a new one."

describe("The page of a call link", () => {
  it("shows nothing but the end when the agent hangs up", async () => {
    const page = await inCall()
    await page.receive({ event: "ended", reason: "agent-hangup" })
    expect(page.read()).toEqual({ state: "Call ended", error: "", intro: null, canStart: true })
  })

  it("says that the server stops when it hangs up as the agent does and takes no requests any more", async () => {
    for (const response of [undefined, { status: 502 }, { status: 503 }]) {
      const page = await inCall()
      page.answersWith(response)
      await page.receive({ event: "ended", reason: "agent-hangup" })
      expect(page.read()).toEqual({ state: "Call ended", error: shutdown, intro: null, canStart: true })
    }
    // The server is there, and its database is not.
    const page = await inCall()
    page.answersWith({ status: 503, headers: { "X-Robots-Tag": "noindex" } })
    await page.receive({ event: "ended", reason: "agent-hangup" })
    expect(page.read().error).toBe("")
  })

  it("says that the server stops when the server says so, and when it closes the socket and does not come back", async () => {
    const told = await inCall()
    await told.receive({ event: "ended", reason: "shutdown" })
    expect(told.read()).toMatchObject({ state: "Call ended", error: shutdown })
    for (const code of [1001, 1012]) {
      const closed = await inCall()
      await closed.closes(code)
      await closed.passes(11_000)
      expect(closed.read()).toMatchObject({ state: "Call ended", error: shutdown })
    }
    const lost = await inCall()
    await lost.closes(1006)
    await lost.passes(11_000)
    expect(lost.read().error).toMatch(/^The network was gone for more than 10 seconds/)
  })

  it("asks for a new link when the call that has ended was the last one of its link", async () => {
    const page = await inCall()
    page.answersWith({ status: 404 })
    await page.receive({ event: "ended", reason: "agent-hangup" })
    expect(page.read()).toEqual({ state: "Call ended", error: "", intro: noMoreCalls, canStart: false })
  })

  it("says that the call did not start, and why, without a microphone, a link or a server", async () => {
    const denied = await openPage("denied")
    await denied.start()
    expect(denied.read()).toEqual({
      state: "The call did not start",
      error: expect.stringContaining("The microphone is blocked."),
      intro: null,
      canStart: true
    })

    const expired = await openPage()
    await expired.start()
    expired.answersWith({ status: 404 })
    await expired.closes(1006)
    expect(expired.read()).toEqual({
      state: "The call did not start",
      error: "This link has expired or was used as often as it may be. Ask for a new one.",
      intro: null,
      canStart: false
    })

    const unreachable = await openPage()
    await unreachable.start()
    unreachable.answersWith(undefined)
    await unreachable.closes(1006)
    expect(unreachable.read()).toEqual({
      state: "The call did not start",
      error: "The server cannot be reached. Check your connection, and start the call again.",
      intro: null,
      canStart: true
    })
  })

  it("shows a digit that was pressed in a call, and sends it", async () => {
    const page = await openPage()
    await page.start()
    await page.receive(...connectedCall.slice(0, 2))
    page.press("1")
    expect(page.transcript()).toEqual([])
    await page.receive(...connectedCall.slice(2))
    page.press("5")
    expect(page.transcript()).toEqual(["You pressed 5"])
    expect(page.sent()).toContainEqual({ event: "dtmf", digit: "5", n: 2 })
  })
})
