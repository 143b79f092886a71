import { createHash, randomUUID } from "node:crypto"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { Effect, Option, Schema } from "effect"
import type { StoredSpeech } from "./StoredSpeech.ts"

/**
 * The speech that is kept on disk, so that it survives a restart. A file has a head (mark, length of the description),
 * the description as JSON, the samples (PCM16, in the byte order of the machine), and a SHA-256 of all of that. A file that
 * is not whole is ignored and written again.
 */
export interface SpeechFiles {
  /** Fills speech from its file. False: there is none that can be used. Never fails. */
  readonly read: (name: string, speech: StoredSpeech) => Effect.Effect<boolean>
  /** Writes complete speech, and deletes what was not used for the longest time. Never fails. */
  readonly write: (name: string, speech: StoredSpeech) => Effect.Effect<void>
}

export const noFiles: SpeechFiles = { read: () => Effect.succeed(false), write: () => Effect.void }

const mark = Buffer.from("SVCTTS1\n")
const digestBytes = 32
const unfinishedEnd = ".tmp"

const Description = Schema.Struct({
  sampleRate: Schema.Number,
  samples: Schema.NonNegativeInt,
  marks: Schema.Array(Schema.Tuple(Schema.Number, Schema.Number))
})
const readDescription = Schema.decodeUnknownOption(Schema.parseJson(Description))

/** The file of complete speech. */
export const encode = ({ chunks, marks, sampleRate, samples }: StoredSpeech): Buffer => {
  const description = Buffer.from(JSON.stringify({ sampleRate, samples, marks }))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(description.length)
  const audio = Buffer.alloc(2 * samples)
  let at = 0
  for (const { buffer, byteLength, byteOffset } of chunks) {
    audio.set(new Uint8Array(buffer, byteOffset, byteLength), at)
    at += byteLength
  }
  const whole = Buffer.concat([mark, length, description, audio])
  return Buffer.concat([whole, createHash("sha256").update(whole).digest()])
}

/** Fills speech from a file. False: the file is not whole. */
export const decode = (file: Buffer, speech: StoredSpeech): boolean => {
  const end = file.length - digestBytes
  if (end < mark.length + 4 || !file.subarray(0, mark.length).equals(mark)) return false
  const whole = file.subarray(0, end)
  if (!createHash("sha256").update(whole).digest().equals(file.subarray(end))) return false
  const from = mark.length + 4 + file.readUInt32LE(mark.length)
  const description = readDescription(file.toString("utf8", mark.length + 4, from))
  if (Option.isNone(description)) return false
  const { marks, sampleRate, samples } = description.value
  if (sampleRate !== speech.sampleRate || from + 2 * samples !== end) return false
  const audio = new Int16Array(new Uint8Array(file.subarray(from, end)).buffer)
  for (const [characters, atSample] of marks) speech.align(characters, atSample)
  speech.write(audio)
  return true
}

/** Keeps up to `limit` bytes in a folder. What is wrong with the disk never fails a call. */
export const speechFiles = (folder: string, limit: number): Effect.Effect<SpeechFiles> =>
  Effect.gen(function* () {
    /** Bytes of each file, those used last at the end. */
    const sizes = new Map<string, number>()
    let bytes = 0

    let isReported = false
    /** Undefined: it failed, or there is no such file. What is wrong with the disk is logged once. */
    const disk = <A>(what: string, work: () => Promise<A>): Effect.Effect<A | undefined> =>
      Effect.catchAll(Effect.tryPromise(work), ({ error }) => {
        if (isReported || isMissing(error)) return Effect.as(Effect.void, undefined)
        isReported = true
        const line = `The speech cache could not ${what} in ${folder}, and may synthesize texts again: ${String(error)}`
        return Effect.as(Effect.logWarning(line), undefined)
      })
    const fileOf = (name: string): string => path.join(folder, name)
    const add = (name: string, size: number): void => {
      bytes += size - (sizes.get(name) ?? 0)
      sizes.delete(name)
      sizes.set(name, size)
    }
    const remove = (name: string) =>
      Effect.suspend(() => {
        bytes -= sizes.get(name) ?? 0
        sizes.delete(name)
        return disk("delete a file", () => fs.rm(fileOf(name), { force: true }))
      })
    const evict: Effect.Effect<void> = Effect.suspend(() => {
      const [oldest] = sizes.keys()
      return bytes <= limit || oldest === undefined ? Effect.void : Effect.zipRight(remove(oldest), evict)
    })

    const found: Array<{ readonly name: string; readonly size: number; readonly usedAt: number }> = []
    for (const name of (yield* disk("read the folder", () => fs.readdir(folder))) ?? []) {
      // What a process that was killed left behind.
      if (name.endsWith(unfinishedEnd)) yield* disk("delete a file", () => fs.rm(fileOf(name), { force: true }))
      else {
        const status = yield* disk("read the folder", () => fs.stat(fileOf(name)))
        if (status?.isFile() === true) found.push({ name, size: status.size, usedAt: status.mtimeMs })
      }
    }
    for (const { name, size } of found.toSorted((a, b) => a.usedAt - b.usedAt)) add(name, size)
    yield* evict

    return {
      read: (name, speech) =>
        Effect.gen(function* () {
          const file = yield* disk("read a file", () => fs.readFile(fileOf(name)))
          if (file === undefined) return false
          if (!decode(file, speech)) {
            yield* Effect.logWarning(
              `The speech cache in ${folder} has a file that is not whole, which is ignored: ${name}`
            )
            yield* remove(name)
            return false
          }
          add(name, file.length)
          const now = new Date(yield* Effect.clockWith((clock) => clock.currentTimeMillis))
          yield* disk("mark a file as used", () => fs.utimes(fileOf(name), now, now))
          return true
        }),
      write: (name, speech) =>
        Effect.gen(function* () {
          const file = encode(speech)
          if (file.length > limit) return
          const unfinished = fileOf(`${name}.${randomUUID()}${unfinishedEnd}`)
          yield* disk("make a folder", () => fs.mkdir(folder, { recursive: true, mode: 0o700 }))
          const isWritten = yield* disk("write a file", () =>
            fs
              .writeFile(unfinished, file, { flush: true, mode: 0o600 })
              .then(() => fs.rename(unfinished, fileOf(name)))
              .then(() => true)
          )
          if (isWritten !== true) {
            yield* disk("delete a file", () => fs.rm(unfinished, { force: true }))
            return
          }
          add(name, file.length)
          yield* evict
        })
    }
  })

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT"
