import { Config, Effect, type Scope } from "effect"
import { type Browser, chromium, type Page } from "playwright-core"

/** Color scheme and width of a page. */
export interface Look {
  readonly scheme: "light" | "dark"
  readonly width: number
}

/** A page and its faults: script errors, violations of its content policy, failed requests. */
export interface OpenPage {
  readonly page: Page
  readonly faults: ReadonlyArray<string>
  /** The hosts that it sent requests to. */
  readonly hosts: ReadonlySet<string>
}

/** A headless Chromium: the one of the system, or that of `SVC_TEST_CHROMIUM`. `args` are further arguments. */
export const launchWith = (args: ReadonlyArray<string>): Effect.Effect<Browser, never, Scope.Scope> =>
  Effect.flatMap(Effect.orDie(Config.withDefault(Config.string("SVC_TEST_CHROMIUM"), "chromium")), (program) =>
    Effect.acquireRelease(
      Effect.promise(() =>
        // As root, as in most containers, it runs only without its sandbox; it opens only our own pages.
        chromium.launch({
          executablePath: program.includes("/") ? program : `/usr/bin/${program}`,
          args: ["--no-sandbox", ...args]
        })
      ),
      (browser) => Effect.promise(() => browser.close())
    )
  )

export const launch: Effect.Effect<Browser, never, Scope.Scope> = launchWith([])

/** The same with a microphone that plays a WAV file once, from when a page opens it; without a file, with none. */
export const launchWithMicrophone = (file?: string): Effect.Effect<Browser, never, Scope.Scope> =>
  launchWith(
    file === undefined
      ? ["--use-fake-ui-for-media-stream"]
      : [
          "--use-fake-ui-for-media-stream",
          "--use-fake-device-for-media-stream",
          `--use-file-for-fake-audio-capture=${file}%noloop`
        ]
  )

/** Opens a page; `prepare` runs before its scripts do. */
export const open = (
  browser: Browser,
  url: string,
  look: Look,
  prepare: (page: Page) => Effect.Effect<unknown> = () => Effect.void
): Effect.Effect<OpenPage, never, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Effect.acquireRelease(
      Effect.promise(() =>
        browser.newContext({ colorScheme: look.scheme, viewport: { width: look.width, height: 800 } })
      ),
      (made) => Effect.promise(() => made.close())
    )
    const page = yield* Effect.promise(() => context.newPage())
    const faults: Array<string> = []
    page.on("pageerror", (error) => faults.push(String(error)))
    page.on("console", (message) => message.type() === "error" && faults.push(message.text()))
    page.on("response", (response) => response.status() >= 400 && faults.push(`${response.status()} ${response.url()}`))
    const hosts = new Set<string>()
    page.on("request", (request) => /^(data|blob):/.test(request.url()) || hosts.add(new URL(request.url()).host))
    yield* prepare(page)
    yield* Effect.promise(() => page.goto(url))
    return { page, faults, hosts }
  })

/** Whether the page fits without horizontal scrolling. */
export const fits = (page: Page): Effect.Effect<boolean> =>
  Effect.promise(() => page.evaluate("document.documentElement.scrollWidth <= innerWidth"))

/** Runs in the page, which has other globals. */
const contrastScript = `(selector) => {
  const element = document.querySelector(selector)
  if (element === null) throw new Error("there is no " + selector)
  const channels = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number)
  const light = (color) => {
    const [r, g, b] = channels(color).map((c) => c / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  let ground = element
  while (channels(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement
  const [bright, dark] = [light(getComputedStyle(element).color), light(getComputedStyle(ground).backgroundColor)].sort((a, b) => b - a)
  return (bright + 0.05) / (dark + 0.05)
}`

/** The contrast ratio between text and background of the first matching element by WCAG 2.1: from 1 to 21. */
export const contrast = (page: Page, selector: string): Effect.Effect<number> =>
  Effect.promise(() => page.evaluate<number>(`(${contrastScript})(${JSON.stringify(selector)})`))

/** The length of the sound that an audio element loads, in seconds. */
export const soundSeconds = (page: Page): Effect.Effect<number> =>
  Effect.promise(async () => {
    await page.locator("audio").waitFor()
    return page.evaluate<number>(`new Promise((resolve) => {
      const audio = document.querySelector("audio")
      if (audio.readyState > 0) resolve(audio.duration)
      else audio.addEventListener("loadedmetadata", () => resolve(audio.duration))
    })`)
  })
