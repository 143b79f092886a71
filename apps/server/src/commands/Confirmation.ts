import { createInterface } from "node:readline"
import { Console, Context, Data, Effect, Layer } from "effect"

/** A command that must not begin, or whose question was answered with no. */
export class NotConfirmed extends Data.TaggedError("NotConfirmed")<{ readonly message: string }> {}

/** The person at the terminal. */
export class Operator extends Context.Tag("@svc/server/Operator")<
  Operator,
  {
    /** Whether somebody can answer. */
    readonly isPresent: Effect.Effect<boolean>
    /** Asks on standard error, so that standard output has results only. The end of the input is an empty answer. */
    readonly ask: (question: string) => Effect.Effect<string>
  }
>() {
  /** On standard input. The terminal stays in its line mode, so that Ctrl-C interrupts the command. */
  static readonly layer: Layer.Layer<Operator> = Layer.succeed(Operator, {
    isPresent: Effect.sync(() => process.stdin.isTTY === true),
    ask: (question) =>
      Effect.async<string>((resume) => {
        const lines = createInterface({ input: process.stdin, terminal: false })
        let isAnswered = false
        lines.once("line", (line) => {
          isAnswered = true
          resume(Effect.succeed(line))
          lines.close()
        })
        lines.once("close", () => {
          // What is printed next does not belong into the line of the question.
          if (!isAnswered) process.stderr.write("\n")
          resume(Effect.succeed(""))
        })
        process.stderr.write(question)
        return Effect.sync(() => lines.close())
      })
  })
}

/**
 * Goes on with `--yes`, or when the operator answers y or yes. `facts` are shown above the question; `undone` says what
 * has not happened otherwise.
 */
export const confirm = (options: {
  readonly yes: boolean
  readonly facts: string
  readonly question: string
  readonly undone: string
}): Effect.Effect<void, NotConfirmed, Operator> =>
  Effect.gen(function* () {
    if (options.yes) return
    const operator = yield* Operator
    if (!(yield* operator.isPresent)) {
      return yield* new NotConfirmed({
        message: `standard input is not a terminal, so nobody can confirm, and ${options.undone}: repeat it with --yes`
      })
    }
    yield* Console.error(options.facts)
    const answer = yield* operator
      .ask(`${options.question} [y/N] `)
      .pipe(Effect.onInterrupt(() => Console.error(`svc: interrupted: ${options.undone}`)))
    if (!/^\s*y(es)?\s*$/i.test(answer)) {
      return yield* new NotConfirmed({ message: `not confirmed: ${options.undone}` })
    }
  })
