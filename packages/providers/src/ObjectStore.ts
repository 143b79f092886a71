import { Context, Data, type Effect, type Option, type Scope, type Stream } from "effect"
import type { Health } from "./Health.ts"

export class ObjectStoreError extends Data.TaggedError("ObjectStoreError")<{
  readonly reason: string
  /** Whether another attempt may work. */
  readonly retryable: boolean
}> {
  override get message(): string {
    return this.reason
  }
}

/** Writes an object. One append at a time. */
export interface ObjectWriter {
  /** Adds bytes at the end; completes when the store has accepted them. The caller may then reuse the array. */
  readonly append: (bytes: Uint8Array) => Effect.Effect<void, ObjectStoreError>
  /** Creates the object. Completes when it can be read and would survive a power failure of the store. */
  readonly finish: Effect.Effect<void, ObjectStoreError>
}

/** Part of an object: bytes from `start` up to `end`, which is the byte after the last one. */
export interface ObjectRange {
  readonly start: number
  readonly end: number
}

/**
 * Stores large files, such as recordings. A key is one or more names separated by slashes, each of lower-case letters,
 * digits, `_`, `-` and `.`, not beginning with a dot.
 *
 * An object does not exist until `finish`: it has no size and cannot be read. `finish` replaces an object of the same
 * key atomically. When the scope of a writer closes before that, the appended bytes remain, and `recover` on any node
 * can make an object of them.
 */
export class ObjectStore extends Context.Tag("@svc/providers/ObjectStore")<
  ObjectStore,
  {
    readonly id: string
    readonly health: Effect.Effect<Health>
    /** Starts to write an object. Bytes that an unfinished writer of the key left are deleted. */
    readonly write: (key: string, contentType: string) => Effect.Effect<ObjectWriter, ObjectStoreError, Scope.Scope>
    /**
     * Makes an object of the bytes that an unfinished writer left: all of them or a prefix. Returns the size in bytes,
     * also of an object that is already finished; none when there is neither.
     */
    readonly recover: (key: string) => Effect.Effect<Option.Option<number>, ObjectStoreError>
    /** The size in bytes; none when the object does not exist. */
    readonly size: (key: string) => Effect.Effect<Option.Option<number>, ObjectStoreError>
    /** The bytes of the object, or of a range within it. Fails when the object does not exist. Buffers little of it. */
    readonly read: (key: string, range?: ObjectRange) => Stream.Stream<Uint8Array, ObjectStoreError>
    /** Deletes the object and the bytes of an unfinished writer. Succeeds when there is neither. */
    readonly remove: (key: string) => Effect.Effect<void, ObjectStoreError>
    /** A URL from which anyone can download the object for `seconds`. Without it the platform serves the object. */
    readonly presign?: (key: string, seconds: number) => Effect.Effect<string, ObjectStoreError>
  }
>() {}

/** Whether a key has the form that every store accepts. */
export const isObjectKey = (key: string): boolean =>
  key.length <= 512 && /^[a-z0-9_-][a-z0-9_.-]*(\/[a-z0-9_-][a-z0-9_.-]*)*$/.test(key)
