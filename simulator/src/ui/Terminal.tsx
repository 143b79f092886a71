import { Console, Duration, Effect, Fiber, Runtime, type Scope, Stream } from "effect"
import { render } from "ink"
import { summaryLines } from "../CallSummary.ts"
import { callsOf, type PhoneState } from "../PhoneState.ts"
import { ServerAddress } from "../ServerAddress.ts"
import { Session } from "../Session.ts"
import { App, type Store } from "./App.tsx"
import type { Command } from "./Controls.ts"
import { converse, perform } from "./LineTerminal.ts"
import { hasColor, isDumb, withoutColor } from "./TerminalKind.ts"
import { printable } from "./TextWrap.ts"

const enter = "\u001b[?1049h\u001b[2J\u001b[H"
const leave = "\u001b[?25h\u001b[?1049l"
const clear = "\u001b[2J\u001b[H"
/**
 * Clears the scrollback. Ink sends it with each full redraw; it is filtered out, because the scrollback is the user's.
 */
const clearScrollback = "\u001b[3J"

/**
 * Switches the terminal to its alternate screen while the scope is open. It is restored whatever ends the process,
 * before anything else is printed. Returns the stream to draw on.
 */
const fullScreen: Effect.Effect<NodeJS.WriteStream, never, Scope.Scope> = Effect.gen(function* () {
  const { stdout } = process
  let entered = true
  const restore = () => {
    if (!entered) return
    entered = false
    if (process.stdin.isTTY) process.stdin.setRawMode(false)
    stdout.write(leave)
  }
  const crash = (error: unknown) => {
    restore()
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    process.exit(1)
  }
  // Ink's exit hook kills the process at a signal without another listener, and the Effect runtime removes its listener
  // at the first signal: finalizers would not run. So there is always this listener.
  const ignoreSignal = () => {}
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const
  const wipe = () => stdout.write(clear)
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      // Before the first frame: Ink sets raw mode after it, and a key in between would be echoed.
      if (process.stdin.isTTY) process.stdin.setRawMode(true)
      stdout.write(enter)
      process.on("exit", restore)
      process.on("uncaughtException", crash)
      process.on("unhandledRejection", crash)
      for (const signal of signals) process.on(signal, ignoreSignal)
      // Before Ink's own listener: the reflowed old frame must be erased.
      stdout.on("resize", wipe)
    }),
    () =>
      Effect.sync(() => {
        restore()
        process.off("exit", restore)
        process.off("uncaughtException", crash)
        process.off("unhandledRejection", crash)
        for (const signal of signals) process.off(signal, ignoreSignal)
        stdout.off("resize", wipe)
      })
  )
  const isColored = yield* hasColor
  const filtered = (text: string) => {
    const kept = text.replaceAll(clearScrollback, "")
    return isColored ? kept : withoutColor(kept)
  }
  return new Proxy(stdout, {
    get: (target, name) => {
      if (name === "write") {
        return (chunk: string | Uint8Array, ...rest: ReadonlyArray<never>) =>
          target.write(typeof chunk === "string" ? filtered(chunk) : chunk, ...rest)
      }
      const value: unknown = Reflect.get(target, name)
      return typeof value === "function" ? value.bind(target) : value
    }
  })
})

/** A store with the session's latest state. */
const makeStore = Effect.gen(function* () {
  const session = yield* Session
  let current: PhoneState = yield* session.state
  const listeners = new Set<() => void>()
  yield* Stream.runForEach(session.changes, (state) =>
    Effect.sync(() => {
      current = state
      for (const listener of listeners) listener()
    })
  ).pipe(Effect.forkScoped)
  const store: Store = {
    get: () => current,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    }
  }
  return store
})

/** How long the end of the last call is waited for when the user quits. */
const summaryTimeout = Duration.seconds(3)

/** Prints the summaries of all calls, the oldest first. */
export const printSummaries = Effect.gen(function* () {
  const session = yield* Session
  yield* Effect.timeoutOption(session.settled, summaryTimeout)
  const calls = callsOf(yield* session.state).toReversed()
  for (const call of calls) {
    yield* Console.log(summaryLines(call).map(printable).join("\n  "))
  }
})

/** What the simulator shows in a terminal. */
export interface ShowOptions {
  /** The caller's number. */
  readonly from: string
  /** The number that is selected at first. */
  readonly to?: string | undefined
  /** A text for the input line during a call. */
  readonly hint?: string
  /** What there is to know about a number, by number. */
  readonly notes?: ReadonlyMap<string, string>
}

/**
 * Shows the simulator in the terminal until the user quits, then prints a summary of the calls, which stays in the
 * terminal. Plain lines where the terminal has no screen (`TERM=dumb`).
 */
export const show = (options: ShowOptions) =>
  Effect.flatMap(isDumb, (dumb) =>
    // Without a screen Ctrl-C is a signal. A fiber of its own: time limits have no effect in one that is interrupted.
    dumb
      ? Effect.onInterrupt(converse(options), () => Effect.flatMap(Effect.forkDaemon(hangUpAndPrint), Fiber.await))
      : draw(options)
  ).pipe(Effect.zipRight(printSummaries))

const hangUpAndPrint = Effect.gen(function* () {
  const session = yield* Session
  yield* session.hangup
  yield* printSummaries
}).pipe(Effect.interruptible)

const draw = ({ from, hint, notes, to }: ShowOptions) =>
  Effect.gen(function* () {
    const { url } = yield* ServerAddress
    const stdout = yield* fullScreen
    const store = yield* makeStore
    const runtime = yield* Effect.runtime<Session>()
    const running = new Set<Fiber.RuntimeFiber<void>>()
    // In the order of the keys: each sees what the one before has done.
    const turns = yield* Effect.makeSemaphore(1)
    let quit = false
    const act = (command: Command) => {
      if (command._tag === "Quit") quit = true
      const doing = perform(command, from)
      // A list that is read slowly holds up nothing.
      const fiber = Runtime.runFork(runtime)(command._tag === "Refresh" ? doing : turns.withPermits(1)(doing))
      running.add(fiber)
      fiber.addObserver(() => running.delete(fiber))
    }
    const app = (
      <App
        store={store}
        act={act}
        url={url}
        to={to ?? null}
        {...(hint === undefined ? {} : { hint })}
        {...(notes === undefined ? {} : { notes })}
      />
    )
    yield* Effect.acquireUseRelease(
      Effect.sync(() => render(app, { stdout, exitOnCtrlC: false })),
      (screen) =>
        // An error while drawing is a defect.
        Effect.promise(() => screen.waitUntilExit()),
      (screen) => Effect.sync(() => screen.unmount())
    )
    // Ink also unmounts at signals, which interrupt the program.
    if (!quit) return yield* Effect.interrupt
    // The commands of the last keys, such as the hangup, complete before the connection is closed.
    yield* Effect.forEach([...running], Fiber.await, { discard: true })
  }).pipe(Effect.scoped)
