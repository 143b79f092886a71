import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Data, Deferred, Effect, Schema, type Scope } from "effect"
import type { Requests } from "./ProcessRequests.ts"

/** The bench could not run; `message` is one line. */
export class BenchFailed extends Data.TaggedError("BenchFailed")<{ readonly message: string }> {}

/** A process of the bench, as its parent sees it. */
export interface Child<A extends Requests<A>> {
  readonly request: <K extends keyof A & string>(
    name: K,
    ...argument: A[K]["argument"] extends undefined ? [] : [A[K]["argument"]]
  ) => Effect.Effect<A[K]["answer"], BenchFailed>
}

/** Time for a child to stop: the server settles its calls and stops its database. */
const stopTimeout = "20 seconds"
const answerTimeout = "120 seconds"

const isReply = Schema.is(
  Schema.Struct({
    id: Schema.Number,
    answer: Schema.optional(Schema.Unknown),
    failure: Schema.optional(Schema.String)
  })
)

/**
 * Starts a file of this folder in a process of its own, which ends with the scope. Its log goes to our standard error.
 */
export const start = <A extends Requests<A>>(
  file: string,
  options: {
    readonly flags?: ReadonlyArray<string>
    readonly env?: Readonly<Record<string, string>>
    /** The packages as they were built for production, instead of their sources. */
    readonly built?: boolean
  } = {}
): Effect.Effect<Child<A>, BenchFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const pending = new Map<number, Deferred.Deferred<unknown, BenchFailed>>()
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
          Effect.zipRight(Effect.timeoutOption(Effect.interruptible(Deferred.await(gone)), stopTimeout)),
          Effect.zipRight(Effect.sync(() => started.kill("SIGKILL")))
        )
    )
    child.on("message", (reply: unknown) => {
      if (!isReply(reply)) return
      const answer = pending.get(reply.id)
      pending.delete(reply.id)
      if (answer === undefined) return
      Deferred.unsafeDone(
        answer,
        reply.failure === undefined
          ? Effect.succeed(reply.answer)
          : new BenchFailed({ message: `${file}: ${reply.failure}` })
      )
    })
    child.on("exit", (code, signal) => {
      over = true
      Deferred.unsafeDone(gone, Effect.void)
      for (const answer of pending.values()) {
        Deferred.unsafeDone(answer, new BenchFailed({ message: `${file} ended by ${signal ?? `code ${code}`}` }))
      }
    })

    const request = (name: string, argument?: unknown): Effect.Effect<unknown, BenchFailed> =>
      Effect.gen(function* () {
        if (over) return yield* new BenchFailed({ message: `${file} has ended` })
        const answer = yield* Deferred.make<unknown, BenchFailed>()
        const id = ++last
        pending.set(id, answer)
        child.send({ id, name, argument }, () => {})
        return yield* Effect.timeoutFail(Deferred.await(answer), {
          duration: answerTimeout,
          onTimeout: () => new BenchFailed({ message: `${file} does not answer "${name}"` })
        })
      })
    // Both ends are compiled from the same list of requests, so an answer has the type of the list.
    return { request } as Child<A>
  })
