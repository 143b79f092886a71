import { SqlClient } from "@effect/sql"
import { CallNotFound, type RecordingLink, type RecordingLinkInvalid, RecordingNotFound } from "@svc/api/calls/Call"
import { CallId, parseId } from "@svc/api/Ids"
import type { PrincipalProject } from "@svc/api/Principal"
import { DueCheck } from "@svc/cluster/DueCheck"
import { Outbox } from "@svc/database/Outbox"
import { type ObjectRange, ObjectStore, type ObjectStoreError } from "@svc/providers/ObjectStore"
import { Cause, Clock, Context, Effect, Layer, Option, type Stream } from "effect"
import { type CallRecording, keyOf, Recorder } from "./Recorder.ts"
import { RecordingLinks } from "./RecordingLinks.ts"
import { type PendingRecording, RecordingsRepo } from "./RecordingsRepo.ts"

/** Lifetime of the link in `call.recording_ready`, in seconds. */
const eventLinkSeconds = 86_400
/** Between two attempts to complete recordings whose writer died; only the node that has the file can. */
const shortestPause = "5 seconds"
/** Recordings per sweep. */
const batch = 100

const readId = parseId(CallId)

/** A stored recording: its size in bytes and its content. */
export interface RecordingFile {
  readonly size: number
  readonly read: (range?: ObjectRange) => Stream.Stream<Uint8Array, ObjectStoreError>
}

/**
 * The recordings of ended calls: completes them, also those of dead nodes, and links to them. See
 * docs/reference/calls.md.
 */
export class Recordings extends Context.Tag("@svc/call-engine/Recordings")<
  Recordings,
  {
    /**
     * Waits until the recording of a settled call is in the store, then marks the record and emits
     * `call.recording_ready`. Never fails: the sweep completes what is not completed here.
     */
    readonly complete: (
      call: { readonly id: number; readonly public_id: CallId },
      recording: CallRecording
    ) => Effect.Effect<void>
    /** Completes the recordings of dead nodes that this node's store has. */
    readonly sweep: Effect.Effect<void>
    readonly link: (
      project: PrincipalProject,
      id: string,
      seconds: number
    ) => Effect.Effect<RecordingLink, CallNotFound | RecordingNotFound>
    /** The recording that a link to this server opens. `file` is the last segment of the path. */
    readonly open: (
      file: string,
      query: URLSearchParams
    ) => Effect.Effect<RecordingFile, RecordingLinkInvalid | RecordingNotFound>
    /** The recording of a call, without a check of access. */
    readonly fileOf: (callId: CallId) => Effect.Effect<RecordingFile, RecordingNotFound>
  }
>() {
  static readonly layer: Layer.Layer<
    Recordings,
    never,
    DueCheck | RecordingsRepo | RecordingLinks | Recorder | ObjectStore | Outbox | SqlClient.SqlClient
  > = Layer.scoped(
    Recordings,
    Effect.gen(function* () {
      const repo = yield* RecordingsRepo
      const links = yield* RecordingLinks
      const recorder = yield* Recorder
      const store = yield* ObjectStore
      const outbox = yield* Outbox
      const sql = yield* SqlClient.SqlClient

      const markReady = Effect.fn("Recordings.markReady")(function* (id: number, callId: CallId) {
        const { expires_at, url } = yield* links.make(callId, eventLinkSeconds)
        const timestamp = new Date(yield* Clock.currentTimeMillis).toISOString()
        const mark = Effect.gen(function* () {
          const ready = yield* repo.ready(id)
          if (Option.isNone(ready)) return
          const { agent_public_id: agent_id, org_id, project_id, public_id: call_id } = ready.value
          yield* outbox.append({
            event: "call.recording_ready",
            org_id,
            project_id,
            agent_id,
            call_id,
            timestamp,
            data: { call_id, agent_id, recording_url: url, recording_expires_at: expires_at.toISOString() }
          })
        })
        yield* Effect.orDie(sql.withTransaction(mark))
      })

      const complete = (call: { readonly id: number; readonly public_id: CallId }, recording: CallRecording) =>
        Effect.flatMap(recording.stored, (stored) => (stored ? markReady(call.id, call.public_id) : Effect.void)).pipe(
          Effect.catchAllCause((cause) =>
            Cause.isInterruptedOnly(cause)
              ? Effect.interrupt
              : Effect.logWarning(`The recording of ${call.public_id} could not be completed; trying again soon`, cause)
          )
        )

      /** Completes a recording whose writer died. Another node may have the file; then that node completes it. */
      const recover = Effect.fn("Recordings.recover")(function* ({ id, is_old, public_id }: PendingRecording) {
        const key = keyOf(public_id)
        if (recorder.isWriting(key)) return
        const size = Option.getOrElse(yield* store.recover(key), () => 0)
        if (size > 0) return yield* markReady(id, public_id)
        if (!is_old) return
        yield* Effect.logWarning(`The recording of ${public_id} is lost: no node has a file of it`)
        // Parts that the node which died had uploaded.
        yield* store.remove(key)
        yield* repo.drop(id)
      })

      /** Recordings that could not be completed at the last sweep: they are logged once. */
      let failing: ReadonlySet<number> = new Set()
      const sweep = Effect.gen(function* () {
        const pending = yield* repo.abandoned(batch)
        const failed = yield* Effect.forEach(
          pending,
          (one) =>
            Effect.matchEffect(recover(one), {
              onSuccess: () => Effect.succeed([]),
              onFailure: ({ reason }) => {
                const line = `The recording of ${one.public_id} could not be completed: ${reason}`
                return Effect.as(failing.has(one.id) ? Effect.logDebug(line) : Effect.logWarning(line), [one.id])
              }
            }).pipe(Effect.annotateLogs("call_id", one.public_id)),
          // One that the store does not take in time must not hold up the others.
          { concurrency: 8 }
        )
        failing = new Set(failed.flat())
      })

      const link = Effect.fn("Recordings.link")(function* (project: PrincipalProject, id: string, seconds: number) {
        const key = readId(id)
        const call = key === undefined ? Option.none() : yield* repo.find(project.id, key)
        if (Option.isNone(call)) return yield* new CallNotFound()
        if (!call.value.has_recording) return yield* new RecordingNotFound()
        const { expires_at, url } = yield* Effect.orDie(links.make(call.value.public_id, seconds))
        return { url, expires_in: seconds, expires_at: expires_at.toISOString() }
      })

      const fileOf = Effect.fn("Recordings.fileOf")(function* (callId: string) {
        const key = keyOf(callId)
        const size = yield* Effect.orDie(store.size(key))
        if (Option.isNone(size)) return yield* new RecordingNotFound()
        return { size: size.value, read: (range?: ObjectRange) => store.read(key, range) }
      })
      const open = (file: string, query: URLSearchParams) => Effect.flatMap(links.open(file, query), fileOf)

      yield* sweep.pipe(
        Effect.catchAllCause((cause) =>
          Cause.isInterruptedOnly(cause)
            ? Effect.interrupt
            : Effect.logWarning("Could not look for recordings of dead nodes; trying again soon", cause)
        ),
        Effect.zipRight(Effect.sleep(shortestPause)),
        Effect.zipRight(yield* (yield* DueCheck).register("calls.recordings", () => repo.hasAbandoned)),
        Effect.forever,
        Effect.forkScoped
      )

      return { complete, sweep, link, open, fileOf }
    })
  )
}
