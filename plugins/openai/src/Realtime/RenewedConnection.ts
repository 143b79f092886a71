import type { RequestFailed } from "@svc/providers/RequestFailed"
import { Duration, Effect, Exit, Schedule, Scope } from "effect"
import * as RealtimeConnection from "./RealtimeConnection.ts"

const renewRetry = Duration.seconds(30)

type Connection = RealtimeConnection.RealtimeConnection
type Options = Parameters<typeof RealtimeConnection.open>[1]

/** A connection, with the scope that closes it. */
interface Opened {
  readonly connection: Connection
  readonly scope: Scope.CloseableScope
  /** Why it has ended. */
  readonly closed: () => RequestFailed | undefined
}

/** A connection that outlives the sessions of the server: before one is too old, another takes its place. */
export interface RenewedConnection {
  readonly current: () => Connection
  /** Must be called when speech and transcription have ended: then another connection may take over. */
  readonly idle: () => void
}

/** Callbacks are called for the connection in use only. */
export const open = (
  server: RealtimeConnection.RealtimeServer,
  options: Omit<Options, "hints"> & {
    /** The hints that apply now. */
    readonly hints: () => Options["hints"]
    /** Whether there is neither speech nor a transcription in progress. */
    readonly isIdle: () => boolean
    /** Another connection is in use; the first is, when `open` has returned. */
    readonly onRenewed: (connection: Connection) => void
  }
): Effect.Effect<RenewedConnection, RequestFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { hints, isIdle, onClosed, onEvent, onRenewed } = options
    const quiet = Effect.unsafeMakeLatch()
    let inUse: Scope.Scope | undefined

    const connect: Effect.Effect<Opened, RequestFailed, Scope.Scope> = Effect.gen(function* () {
      const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
      let closed: RequestFailed | undefined
      const connection = yield* RealtimeConnection.open(server, {
        ...options,
        hints: hints(),
        onEvent: (event) => {
          if (inUse === scope) onEvent(event)
        },
        onClosed: (failure) => {
          closed = failure
          if (inUse === scope) onClosed(failure)
        }
      }).pipe(
        Scope.extend(scope),
        Effect.onError(() => Scope.close(scope, Exit.void))
      )
      return { connection, scope, closed: () => closed }
    })

    let current = yield* connect
    const failure = current.closed()
    if (failure !== undefined) return yield* failure
    inUse = current.scope
    /** Waits for a moment without speech, so that no stretch of it is divided. */
    const change = (next: Opened): Effect.Effect<void, RequestFailed> =>
      Effect.suspend(() => {
        const failure = next.closed()
        if (failure !== undefined) return failure
        if (!isIdle()) {
          quiet.unsafeClose()
          return Effect.zipRight(quiet.await, change(next))
        }
        const former = current
        current = next
        inUse = next.scope
        onRenewed(next.connection)
        next.connection.configure(hints())
        return Scope.close(former.scope, Exit.void)
      })
    const renew = Effect.flatMap(connect, change).pipe(
      Effect.tapError(({ reason }) => Effect.logWarning(`the session could not be renewed: ${reason}`)),
      Effect.retry(Schedule.spaced(renewRetry)),
      Effect.ignore
    )
    yield* Effect.forkScoped(Effect.forever(Effect.delay(renew, server.renewAfter)))
    return { current: () => current.connection, idle: () => void quiet.unsafeOpen() }
  })
