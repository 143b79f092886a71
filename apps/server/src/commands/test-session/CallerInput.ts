import { createInterface } from "node:readline"
import { Context, Deferred, Effect, Layer, Option, Queue } from "effect"

/** What is typed, or comes from a pipe or a file, in place of the caller. */
export class CallerInput extends Context.Tag("@svc/server/CallerInput")<
  CallerInput,
  {
    /** Whether somebody types and reads. */
    readonly isTerminal: boolean
    /** The next line; none at the end of the input (Ctrl-D). At a terminal it shows a prompt. */
    readonly next: Effect.Effect<Option.Option<string>>
    /** Completes when Ctrl-C is typed. */
    readonly interrupted: Effect.Effect<void>
  }
>() {
  /** Standard input. At a terminal lines can be edited, which takes Ctrl-C from the process. */
  static readonly layer: Layer.Layer<CallerInput> = Layer.scoped(
    CallerInput,
    Effect.gen(function* () {
      const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true
      const queue = yield* Queue.unbounded<Option.Option<string>>()
      const interrupted = yield* Deferred.make<void>()
      const lines = yield* Effect.acquireRelease(
        Effect.sync(() =>
          createInterface({
            input: process.stdin,
            terminal: isTerminal,
            ...(isTerminal && { output: process.stdout, prompt: "> " })
          })
        ),
        (opened) => Effect.sync(() => opened.close())
      )
      // What follows Ctrl-D or Ctrl-C stands in a line of its own.
      const leavePrompt = (): void => {
        if (isTerminal) process.stdout.write("\n")
      }
      let isClosing = false
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          isClosing = true
        })
      )
      lines.on("line", (line) => Queue.unsafeOffer(queue, Option.some(line)))
      lines.once("close", () => {
        if (!isClosing) leavePrompt()
        Queue.unsafeOffer(queue, Option.none())
      })
      lines.on("SIGINT", () => {
        leavePrompt()
        Deferred.unsafeDone(interrupted, Effect.void)
      })
      const prompt = Effect.sync(() => {
        if (isTerminal) lines.prompt()
      })
      return {
        isTerminal,
        next: Effect.zipRight(prompt, Queue.take(queue)),
        interrupted: Deferred.await(interrupted)
      }
    })
  )
}
