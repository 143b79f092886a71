import { createInterface } from "node:readline"
import { Console, Effect, Option, Stream } from "effect"
import { inCall, type PhoneState } from "../PhoneState.ts"
import { LiveReport } from "../Report.ts"
import { ServerAddress } from "../ServerAddress.ts"
import { Session } from "../Session.ts"
import type { Command } from "./Controls.ts"
import { answerLine, numberLines } from "./LineCommands.ts"
import { printable } from "./TextWrap.ts"
import { toolText, toolTime } from "./TranscriptRows.ts"

/** Performs a command of the user. A call that has begun is not ended by dialling, as by pressing Enter twice. */
export const perform = (command: Command, from: string) =>
  Effect.gen(function* () {
    const session = yield* Session
    switch (command._tag) {
      case "Dial":
        return inCall(yield* session.state) ? undefined : yield* session.dial(command.to, from)
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

/** The lines that are typed; ends with standard input. */
const typed: Stream.Stream<string> = Stream.asyncPush<string>((emit) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const lines = createInterface({ input: process.stdin, terminal: false })
      lines.on("line", (line) => emit.single(line))
      lines.on("close", () => emit.end())
      return lines
    }),
    (lines) => Effect.sync(() => lines.close())
  )
)

/** Reports each tool of a call when it has ended. */
class ToolReport {
  #call = 0
  #reported = 0

  /** The rows that a new state adds. */
  next({ call }: PhoneState): ReadonlyArray<string> {
    if (call === null) return []
    if (call.id !== this.#call) {
      this.#call = call.id
      this.#reported = 0
    }
    const tools = call.timeline?.tools.slice(this.#reported) ?? []
    const running = tools.findIndex(({ ended_at }) => ended_at === null)
    const ended = running === -1 ? tools : tools.slice(0, running)
    this.#reported += ended.length
    return ended.map((tool) => `        tool ${toolText(tool)}  [${toolTime(tool)}]`)
  }
}

const noNotes: ReadonlyMap<string, string> = new Map()

/** The phone in plain lines: what happens is printed, what is typed is said. Ends with `/quit` or standard input. */
export const converse = (options: {
  readonly from: string
  readonly to?: string | undefined
  readonly hint?: string
  readonly notes?: ReadonlyMap<string, string>
}) =>
  Effect.gen(function* () {
    const session = yield* Session
    const { url } = yield* ServerAddress
    const { from, notes = noNotes, to = null } = options
    const print = (lines: ReadonlyArray<string>) =>
      Effect.forEach(lines, (line) => Console.log(printable(line)), { discard: true })
    yield* print([
      `Svc simulator at ${url}. /help lists the commands.`,
      ...(options.hint === undefined ? [] : [options.hint])
    ])
    const report = new LiveReport()
    const tools = new ToolReport()
    yield* Stream.runForEach(session.changes, (state) => print([...report.next(state), ...tools.next(state)])).pipe(
      Effect.forkScoped
    )
    yield* session
      .until(({ key_problem, numbers }) =>
        numbers.length > 0 || key_problem !== null ? Option.some(true) : Option.none()
      )
      .pipe(
        Effect.zipRight(session.state),
        Effect.flatMap((state) => print(numberLines(state, to, notes))),
        Effect.forkScoped
      )
    yield* typed.pipe(
      Stream.mapEffect((line) => Effect.map(session.state, (state) => answerLine(line, state, to, notes))),
      Stream.tap(({ lines }) => print(lines)),
      Stream.tap(({ command }) => (command === null ? Effect.void : perform(command, from))),
      Stream.takeUntil(({ command }) => command?._tag === "Quit"),
      Stream.runDrain
    )
    yield* session.hangup
  }).pipe(Effect.scoped)
