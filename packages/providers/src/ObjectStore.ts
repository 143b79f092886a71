import { Context, Data, type Effect, type Option, type Scope, type Stream } from "effect"
import type { Health } from "./Health.ts"

export class ObjectStoreError extends Data.TaggedError("ObjectStoreError")<{
  readonly reason: string
  /** Whether the same may work a little later. */
  readonly retryable: boolean
}> {
  override get message(): string {
    return this.reason
  }
}

/** An object in the making. One append at a time. */
export interface ObjectWriter {
  /** Adds bytes at the end; completes when the store has taken them. The array may be used again afterwards. */
  readonly append: (bytes: Uint8Array) => Effect.Effect<void, ObjectStoreError>
  /** Makes it an object: complete when all of it is there to read, also after the store's machine has lost its power. */
  readonly finish: Effect.Effect<void, ObjectStoreError>
}

/** Part of an object: bytes from `start` up to `end`, which is the byte after the last one. */
export interface ObjectRange {
  readonly start: number
  readonly end: number
}

/**
 * Where large files are kept, such as recordings. A key is one or more names with slashes between, each of lower-case
 * letters, digits, `_`, `-` and `.`, not beginning with a dot.
 *
 * An object that is being written is not there yet: no size, nothing to read. It is in place of one of the same key at
 * once when it is finished. A writer whose scope closes before that leaves what it appended, so that
 * `recover` can still make an object of it, whoever calls it.
 */
export class ObjectStore extends Context.Tag("@svc/providers/ObjectStore")<
  ObjectStore,
  {
    readonly id: string
    readonly health: Effect.Effect<Health>
    /** Begins an object. What an unfinished writer of that key has left is dropped. */
    readonly write: (key: string, contentType: string) => Effect.Effect<ObjectWriter, ObjectStoreError, Scope.Scope>
    /**
     * Makes an object of what a writer has left that is gone: some first part of what it appended. Gives the size in
     * bytes, also of an object that was finished already; none when there is nothing.
     */
    readonly recover: (key: string) => Effect.Effect<Option.Option<number>, ObjectStoreError>
    /** Bytes; none when there is no such object. */
    readonly size: (key: string) => Effect.Effect<Option.Option<number>, ObjectStoreError>
    /** The object, or a part of it that lies within. Fails when there is none. Holds little of it in memory. */
    readonly read: (key: string, range?: ObjectRange) => Stream.Stream<Uint8Array, ObjectStoreError>
    /** Deletes the object and what an unfinished writer left. Nothing happens when there is neither. */
    readonly remove: (key: string) => Effect.Effect<void, ObjectStoreError>
    /** A URL that gives the object to anybody for so many seconds. A store that has none is served by the platform. */
    readonly presign?: (key: string, seconds: number) => Effect.Effect<string, ObjectStoreError>
  }
>() {}

/** Whether a key has the form that every store takes. */
export const isObjectKey = (key: string): boolean =>
  key.length <= 512 && /^[a-z0-9_-][a-z0-9_.-]*(\/[a-z0-9_-][a-z0-9_.-]*)*$/.test(key)
