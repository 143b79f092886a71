import { Effect, Fiber, Runtime, type Scope, Stream } from "effect"
import { render } from "ink"
import type { PhoneState } from "../PhoneState.ts"
import { ServerAddress } from "../ServerAddress.ts"
import { Session } from "../Session.ts"
import { App, type Store } from "./App.tsx"
import type { Command } from "./Controls.ts"

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
  return new Proxy(stdout, {
    get: (target, name) => {
      if (name === "write") {
        return (chunk: string | Uint8Array, ...rest: ReadonlyArray<never>) =>
          target.write(typeof chunk === "string" ? chunk.replaceAll(clearScrollback, "") : chunk, ...rest)
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

const perform = (command: Command, from: string) =>
  Effect.gen(function* () {
    const session = yield* Session
    switch (command._tag) {
      case "Dial":
        return yield* session.dial(command.to, from)
      case "Say":
        return yield* session.say(command.text)
      case "Dtmf":
        return yield* session.dtmf(command.digits)
      case "HangUp":
      case "Quit":
        return yield* session.hangup
      case "Refresh":
        return yield* session.refreshNumbers
    }
    // The state already contains the error.
  }).pipe(Effect.ignore)

/**
 * Shows the simulator in the terminal until the user quits. `from` is the caller's number, `hint` a text for the input
 * line.
 */
export const show = ({ from, hint }: { readonly from: string; readonly hint?: string }) =>
  Effect.gen(function* () {
    const { url } = yield* ServerAddress
    const stdout = yield* fullScreen
    const store = yield* makeStore
    const runtime = yield* Effect.runtime<Session>()
    const running = new Set<Fiber.RuntimeFiber<void>>()
    let quit = false
    const act = (command: Command) => {
      if (command._tag === "Quit") quit = true
      const fiber = Runtime.runFork(runtime)(perform(command, from))
      running.add(fiber)
      fiber.addObserver(() => running.delete(fiber))
    }
    yield* Effect.acquireUseRelease(
      Effect.sync(() =>
        render(<App store={store} act={act} url={url} {...(hint === undefined ? {} : { hint })} />, {
          stdout,
          exitOnCtrlC: false
        })
      ),
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
