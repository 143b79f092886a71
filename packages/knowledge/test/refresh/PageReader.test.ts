import { expect, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { PageReader } from "../../src/refresh/PageReader.ts"
import type { Job } from "../../src/refresh/ReaderMessages.ts"

/** A job that the reader cannot carry out: its content type is no text. */
const broken = (url: string): Job =>
  Object.assign(
    { _tag: "Read" as const, url, contentType: null, contentEncoding: null, bytes: new Uint8Array() },
    { contentType: 5 }
  )

it.scopedLive("an error of the reader thread has plain words, and the error itself is logged", () => {
  const logged: Array<string> = []
  const log = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ message }) => void logged.push(String(message)))
  )
  return Effect.gen(function* () {
    const reader = yield* PageReader
    expect(yield* reader.run(broken("https://example.com/page?id=7"))).toEqual({
      _tag: "Refused",
      reason: "cannot be read, because Svc had an error. The operator of this server finds it in the log"
    })
    expect(logged).toEqual([
      expect.stringMatching(
        /^https:\/\/example\.com\/page\?id=7 could not be read,TypeError: .*split is not a function/
      )
    ])
  }).pipe(Effect.provide(PageReader.layer), Effect.provide(log))
})
