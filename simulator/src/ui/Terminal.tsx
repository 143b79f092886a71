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
/** Forgets the lines above the screen. Ink sends it with each full redraw, and they are the user's. */
const forget = "\u001b[3J"

/**
 * The terminal on its second screen, for as long as the scope is open. It is left again whatever ends the process,
 * before anything about the end is printed. Returns the stream to draw on.
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
  // Ink's exit hook kills the process at a signal when no one else listens for it, and the runtime stops to listen at the
  // first: nothing would be cleaned up. So somebody else always listens.
  const stay = () => {}
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const
  const wipe = () => stdout.write(clear)
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      // From the first frame on: Ink sets this a moment after it, and a key in between would be echoed.
      if (process.stdin.isTTY) process.stdin.setRawMode(true)
      stdout.write(enter)
      process.on("exit", restore)
      process.on("uncaughtException", crash)
      process.on("unhandledRejection", crash)
      for (const signal of signals) process.on(signal, stay)
      // Before Ink's own listener: what the terminal made of the old picture must not stay.
      stdout.on("resize", wipe)
    }),
    () =>
      Effect.sync(() => {
        restore()
        process.off("exit", restore)
        process.off("uncaughtException", crash)
        process.off("unhandledRejection", crash)
        for (const signal of signals) process.off(signal, stay)
        stdout.off("resize", wipe)
      })
  )
  return new Proxy(stdout, {
    get: (target, name) => {
      if (name === "write") {
        return (chunk: string | Uint8Array, ...rest: ReadonlyArray<never>) =>
          target.write(typeof chunk === "string" ? chunk.replaceAll(forget, "") : chunk, ...rest)
      }
      const value: unknown = Reflect.get(target, name)
      return typeof value === "function" ? value.bind(target) : value
    }
  })
})

/** The session's state as React reads it: the newest one, synchronously. */
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
    // The state says already that the server is away, or that it refused.
  }).pipe(Effect.ignore)

/** Shows the simulator on this process's terminal until the person quits. Calls come from `from`; `hint`: what to say. */
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
        // A screen that breaks is a defect, told as what was thrown.
        Effect.promise(() => screen.waitUntilExit()),
      (screen) => Effect.sync(() => screen.unmount())
    )
    // Ink also unmounts at signals: that is no way of quitting, the process is being ended.
    if (!quit) return yield* Effect.interrupt
    // What the last key asked for, the hang-up, goes out before the line is closed.
    yield* Effect.forEach([...running], Fiber.await, { discard: true })
  }).pipe(Effect.scoped)
