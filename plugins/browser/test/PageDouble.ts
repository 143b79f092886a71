import { vi } from "vitest"

/** An element of the page, as far as the page's modules use it. */
class ElementDouble {
  hidden = false
  textContent = ""
  className = ""
  value = ""
  scrollTop = 0
  scrollHeight = 0
  children: Array<ElementDouble | string> = []
  readonly dataset: Record<string, string> = {}
  readonly #listeners = new Map<string, (event: unknown) => void>()

  get childElementCount(): number {
    return this.children.length
  }
  get firstElementChild(): { remove: () => void } {
    return { remove: () => this.children.shift() }
  }
  get lastElementChild(): ElementDouble | undefined {
    const last = this.children.at(-1)
    return last instanceof ElementDouble ? last : undefined
  }
  /** Its text with that of its children. */
  get text(): string {
    return this.textContent + this.children.map((child) => (typeof child === "string" ? child : child.text)).join("")
  }

  append(...children: ReadonlyArray<ElementDouble | string>): void {
    this.children.push(...children)
  }
  replaceChildren(...children: ReadonlyArray<ElementDouble>): void {
    this.children = [...children]
  }
  setAttribute(): void {}
  focus(): void {}
  contains(): boolean {
    return false
  }
  addEventListener(name: string, listener: (event: unknown) => void): void {
    this.#listeners.set(name, listener)
  }
  /** A click on the element, or on one inside of it. */
  click(target: unknown = this): void {
    this.#listeners.get("click")?.({ target })
  }
}

/** The last socket that the page has opened. */
class SocketDouble {
  static readonly OPEN = 1
  static last: SocketDouble | undefined
  readyState = SocketDouble.OPEN
  bufferedAmount = 0
  readonly sent: Array<string> = []
  onmessage: (event: { readonly data: string }) => void = () => {}
  onclose: (event: { readonly code: number }) => void = () => {}

  constructor() {
    SocketDouble.last = this
  }
  send(text: string): void {
    this.sent.push(text)
  }
  close(): void {
    this.readyState = 3
  }
}

/** What a request for the page is answered with; undefined: the server cannot be reached. */
type LinkResponse = { readonly status: number; readonly headers?: Readonly<Record<string, string>> } | undefined

/**
 * The page of a call link in memory: its own modules with a document, a socket and a microphone of the test. `fault`: why
 * there is no microphone.
 */
export const openPage = async (fault?: string) => {
  const elements = new Map<string, ElementDouble>()
  const byId = (id: string): ElementDouble => {
    const known = elements.get(id) ?? new ElementDouble()
    elements.set(id, known)
    return known
  }
  for (const id of ["caller-saying", "agent-saying"]) byId(id).append(new ElementDouble())
  let link: LinkResponse = { status: 200, headers: { "X-Robots-Tag": "noindex" } }
  const window = { postMessage: () => {} }
  const globals = {
    window: Object.assign(window, { parent: window }),
    document: Object.assign(new ElementDouble(), {
      body: new ElementDouble(),
      getElementById: byId,
      createElement: () => new ElementDouble(),
      activeElement: null,
      visibilityState: "visible"
    }),
    location: { pathname: "/telephony/browser/link", href: "http://127.0.0.1/telephony/browser/link", hash: "" },
    navigator: {},
    addEventListener: () => {},
    HTMLSelectElement: class {},
    Option: ElementDouble,
    WebSocket: SocketDouble,
    fetch: () =>
      link === undefined
        ? Promise.reject(new TypeError("Failed to fetch"))
        : Promise.resolve(new Response(null, { status: link.status, headers: link.headers ?? {} }))
  }
  for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value)
  const audio = { close: () => {}, clear: () => {}, mute: () => {}, mark: () => {}, play: () => {} }
  vi.resetModules()
  vi.doMock("../page/CallAudio.js", () => ({
    CallAudio: {
      choosesSpeaker: false,
      open: () => (fault === undefined ? Promise.resolve(audio) : Promise.reject({ fault }))
    }
  }))
  await import("../page/Page.js")
  SocketDouble.last = undefined

  /** What is done at once, with its promises. */
  const settled = () => vi.advanceTimersByTimeAsync(0)
  return {
    /** What a person reads. */
    read: () => ({
      state: byId("state").text,
      error: byId("error").text,
      intro: byId("intro").hidden ? null : byId("intro").text,
      canStart: !byId("start").hidden
    }),
    transcript: () => byId("transcript").children.map((line) => (typeof line === "string" ? line : line.text)),
    start: async () => {
      byId("start").click()
      await settled()
    },
    /** Presses a key of the keypad. */
    press: (digit: string) => byId("keypad").click({ dataset: { digit } }),
    receive: async (...messages: ReadonlyArray<Readonly<Record<string, unknown>>>) => {
      for (const message of messages) SocketDouble.last?.onmessage({ data: JSON.stringify(message) })
      await settled()
    },
    sent: () => SocketDouble.last?.sent.map((text) => JSON.parse(text)) ?? [],
    /** The socket is closed, and so is each with which the page reconnects. */
    closes: async (code: number) => {
      SocketDouble.last?.onclose({ code })
      await settled()
    },
    passes: (ms: number) => vi.advanceTimersByTimeAsync(ms),
    answersWith: (response: LinkResponse) => {
      link = response
    }
  }
}

/** The messages up to the answer. */
export const connectedCall = [
  { event: "calling", resume: "key", resume_within_ms: 10_000 },
  { event: "ringing", call_id: "call_1" },
  { event: "answered" }
]
