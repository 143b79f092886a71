import { healthy } from "@svc/providers/Health"
import { ObjectStore, ObjectStoreError } from "@svc/providers/ObjectStore"
import { Effect, Layer, Option, Stream } from "effect"

/** An in-memory store with faults that the test chooses. */
export class MemoryStore {
  readonly objects = new Map<string, Uint8Array>()
  readonly parts = new Map<string, Array<Uint8Array>>()
  appends = 0
  /** How appends end: they succeed, fail, or hang. */
  appending: "well" | "fails" | "hangs" = "well"

  readonly service: typeof ObjectStore.Service = {
    id: "memory",
    health: Effect.succeed(healthy),
    write: (key) =>
      Effect.sync(() => {
        const kept: Array<Uint8Array> = []
        this.parts.set(key, kept)
        return {
          append: (bytes) =>
            Effect.suspend(() => {
              this.appends++
              if (this.appending === "hangs") return Effect.never
              if (this.appending === "fails") {
                return Effect.fail(new ObjectStoreError({ reason: "the disk is full", retryable: true }))
              }
              kept.push(bytes.slice())
              return Effect.void
            }),
          finish: Effect.sync(() => {
            this.objects.set(key, Buffer.concat(kept))
            this.parts.delete(key)
          })
        }
      }),
    recover: (key) =>
      Effect.sync(() => {
        const left = this.parts.get(key)
        if (left !== undefined && left.length > 0) this.objects.set(key, Buffer.concat(left))
        this.parts.delete(key)
        return Option.fromNullable(this.objects.get(key)?.length)
      }),
    size: (key) => Effect.sync(() => Option.fromNullable(this.objects.get(key)?.length)),
    read: (key, range) =>
      Stream.suspend(() => {
        const bytes = this.objects.get(key)
        return bytes === undefined
          ? Stream.fail(new ObjectStoreError({ reason: "no such object", retryable: false }))
          : Stream.make(range === undefined ? bytes : bytes.subarray(range.start, range.end))
      }),
    remove: (key) =>
      Effect.sync(() => {
        this.objects.delete(key)
        this.parts.delete(key)
      })
  }

  readonly layer: Layer.Layer<ObjectStore> = Layer.succeed(ObjectStore, this.service)
}
