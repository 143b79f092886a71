import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Data, Deferred, Effect, Schema, type Scope } from "effect"
import type { Asks } from "./Messages.ts"

/** The bench could not be run; `message` is one line for people. */
export class BenchFailed extends Data.TaggedError("BenchFailed")<{ readonly message: string }> {}

/** A process of the bench, as its parent sees it. */
export interface Child<A extends Asks<A>> {
  readonly ask: <K extends keyof A & string>(
    name: K,
    ...argument: A[K]["argument"] extends undefined ? [] : [A[K]["argument"]]
  ) => Effect.Effect<A[K]["answer"], BenchFailed>
}

/** A child gets this long to end in good order: the server settles its calls and stops its database. */
const farewell = "20 seconds"
const patience = "120 seconds"

const isReply = Schema.is(
  Schema.Struct({
    id: Schema.Number,
    answer: Schema.optional(Schema.Unknown),
    failure: Schema.optional(Schema.String)
  })
)

/** Starts a file of this folder in a process of its own, which ends with the scope. Its log goes to our standard error. */
export const start = <A extends Asks<A>>(
  file: string,
  options: {
    readonly flags?: ReadonlyArray<string>
    readonly env?: Readonly<Record<string, string>>
    /** The packages as they were built for production, instead of their sources. */
    readonly built?: boolean
  } = {}
): Effect.Effect<Child<A>, BenchFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const waiting = new Map<number, Deferred.Deferred<unknown, BenchFailed>>()
    const gone = yield* Deferred.make<void>()
    let last = 0
    let over = false
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        fork(fileURLToPath(new URL(file, import.meta.url)), {
          execArgv: [
            ...(options.built === true ? [] : ["--conditions=@svc/source"]),
            "--import",
            "tsx",
            ...(options.flags ?? [])
          ],
          env: { ...process.env, ...options.env },
          stdio: ["ignore", "ignore", 2, "ipc"]
        })
      ),
      (started) =>
        Effect.sync(() => started.connected && started.disconnect()).pipe(
          Effect.zipRight(Effect.timeoutOption(Effect.interruptible(Deferred.await(gone)), farewell)),
          Effect.zipRight(Effect.sync(() => started.kill("SIGKILL")))
        )
    )
    child.on("message", (reply: unknown) => {
      if (!isReply(reply)) return
      const asked = waiting.get(reply.id)
      waiting.delete(reply.id)
      if (asked === undefined) return
      Deferred.unsafeDone(
        asked,
        reply.failure === undefined
          ? Effect.succeed(reply.answer)
          : new BenchFailed({ message: `${file}: ${reply.failure}` })
      )
    })
    child.on("exit", (code, signal) => {
      over = true
      Deferred.unsafeDone(gone, Effect.void)
      for (const asked of waiting.values()) {
        Deferred.unsafeDone(asked, new BenchFailed({ message: `${file} ended by ${signal ?? `code ${code}`}` }))
      }
    })

    const ask = (name: string, argument?: unknown): Effect.Effect<unknown, BenchFailed> =>
      Effect.gen(function* () {
        if (over) return yield* new BenchFailed({ message: `${file} has ended` })
        const asked = yield* Deferred.make<unknown, BenchFailed>()
        const id = ++last
        waiting.set(id, asked)
        child.send({ id, ask: name, argument }, () => {})
        return yield* Effect.timeoutFail(Deferred.await(asked), {
          duration: patience,
          onTimeout: () => new BenchFailed({ message: `${file} does not answer "${name}"` })
        })
      })
    // Both ends are compiled from the same list of asks, so an answer has the type that the list gives it.
    return { ask } as Child<A>
  })
