import { isObjectKey, type ObjectStore, ObjectStoreError, type ObjectWriter } from "@svc/providers/ObjectStore"
import { Cause, Chunk, type Context, Duration, Effect, Exit, Fiber, Option, Scope, Stream } from "effect"
import { errorSummary } from "../ErrorSummary.ts"
import { pluginLogs } from "../host/PluginHost.ts"
import { fencedHealth } from "./HealthCheck.ts"
import { runIsolated, settled } from "./IsolatedFiber.ts"
import { objectSize, objectStore, objectUrl, objectWriter } from "./ObjectShapes.ts"
import { type Check, problemOf } from "./Shapes.ts"

type Service = Context.Tag.Service<ObjectStore>

/** How long each operation of a store may take, and the wait for the next bytes of an object. */
export const storeDeadline = Duration.seconds(30)
/** How long a writer or a reader may take to release what it holds. */
const releaseDeadline = Duration.seconds(5)

const anything: Check = () => undefined

/**
 * A fenced object store: timeouts, throws, defects and invalid answers become `ObjectStoreError`. It has no circuit
 * breaker: what is to be stored exists only once, so each write is tried. Dies at once when the store is invalid.
 */
export const fencedObjectStore = Effect.fnUntraced(function* (store: Service) {
  const wrong = problemOf(objectStore, store)
  if (wrong !== undefined) return yield* Effect.dieMessage(wrong)
  const logs = yield* pluginLogs
  const { id, presign } = store
  const failed = (reason: string) => new ObjectStoreError({ reason: `${id}: ${reason}`, retryable: true })
  const late = (what: string) => failed(`${what} took longer than ${Duration.format(storeDeadline)}`)

  /** Runs one operation, isolated, with the deadline, and checks its answer. */
  const operation = <A>(what: string, shape: Check, run: () => Effect.Effect<A, ObjectStoreError>) =>
    runIsolated(() => logs(Effect.suspend(run)), failed).pipe(
      Effect.timeoutFail({ duration: storeDeadline, onTimeout: () => late(what) }),
      Effect.flatMap((answer) => {
        const problem = problemOf(shape, answer)
        return problem === undefined ? Effect.succeed(answer) : failed(`${what} gave something invalid: ${problem}`)
      })
    )

  /** The same for a key, which a store need not check. */
  const ofKey = <A>(what: string, key: string, shape: Check, run: () => Effect.Effect<A, ObjectStoreError>) =>
    isObjectKey(key)
      ? operation(what, shape, run)
      : Effect.fail(new ObjectStoreError({ reason: `${id}: the key is not valid`, retryable: false }))

  /** A scope for what the plugin acquires. Its release is waited for only so long. */
  const ownScope = Effect.acquireRelease(Scope.make(), (scope, exit) =>
    Effect.forkDaemon(Effect.interruptible(Scope.close(scope, exit))).pipe(
      Effect.flatMap((closing) =>
        Effect.interruptible(Fiber.join(closing)).pipe(
          Effect.timeoutFail({ duration: releaseDeadline, onTimeout: () => late("the release of an object") })
        )
      ),
      Effect.catchAllCause((cause) =>
        Effect.logWarning(`object store ${id}: failed to release an object: ${errorSummary(Cause.squash(cause))}`)
      )
    )
  )

  const write: Service["write"] = (key, contentType) =>
    Effect.gen(function* () {
      const scope = yield* ownScope
      const writer = yield* ofKey("write", key, objectWriter, () => Scope.extend(store.write(key, contentType), scope))
      let open = true
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          open = false
        })
      )
      const whileOpen = (what: string, run: () => Effect.Effect<void, ObjectStoreError>) =>
        Effect.suspend(() => (open ? operation(what, anything, run) : failed(`${what} after the writer was closed`)))
      return {
        append: (bytes) => whileOpen("append", () => writer.append(bytes)),
        finish: whileOpen("finish", () => writer.finish)
      } satisfies ObjectWriter
    })

  const read: Service["read"] = (key, range) =>
    Stream.unwrapScoped(
      Effect.gen(function* () {
        const scope = yield* ownScope
        const pull = yield* ofKey("read", key, anything, () =>
          Scope.extend(Stream.toPull(store.read(key, range)), scope)
        )
        let left = range === undefined ? Number.POSITIVE_INFINITY : range.end - range.start
        // The exit is the value: the end of the object and its failure are told apart here.
        const next = operation("read", anything, () => Effect.exit(pull)).pipe(
          Effect.mapError(Option.some),
          Effect.flatMap((exit): Effect.Effect<Chunk.Chunk<Uint8Array>, Option.Option<ObjectStoreError>> => {
            if (Exit.isFailure(exit)) {
              const failure = Option.getOrUndefined(Cause.failureOption(exit.cause))
              if (failure !== undefined && Option.isOption(failure) && Option.isNone(failure)) {
                return Effect.fail(Option.none())
              }
              const cause = Cause.flatMap(exit.cause, (error) =>
                Option.isOption(error) && Option.isSome(error) ? Cause.fail(error.value) : Cause.die(error)
              )
              return Effect.mapError(settled(Exit.failCause(cause), failed), Option.some)
            }
            const parts = exit.value
            if (!Chunk.isChunk(parts) || !Chunk.every(parts, (part) => part instanceof Uint8Array)) {
              return Effect.fail(Option.some(failed("read gave something else than a Uint8Array")))
            }
            left -= Chunk.reduce(parts, 0, (sum, part) => sum + part.length)
            return left < 0
              ? Effect.fail(Option.some(failed("read gave more bytes than were asked for")))
              : Effect.succeed(parts)
          })
        )
        return Stream.repeatEffectChunkOption(next)
      })
    )

  return {
    id,
    health: fencedHealth(Effect.suspend(() => store.health)),
    write,
    read,
    recover: (key) => ofKey("recover", key, objectSize, () => store.recover(key)),
    size: (key) => ofKey("size", key, objectSize, () => store.size(key)),
    remove: (key) => ofKey("remove", key, anything, () => store.remove(key)),
    ...(presign === undefined
      ? {}
      : {
          presign: (key: string, seconds: number) =>
            ofKey("presign", key, objectUrl, () => store.presign?.(key, seconds) ?? failed("it has no presign"))
        })
  } satisfies Service
})
