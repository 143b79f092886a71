import type { ServerResponse } from "node:http"
import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, TestClock } from "effect"
import { PageFetcher } from "../../src/refresh/PageFetcher.ts"
import { Reading, site } from "./Site.ts"

it.scoped("a page that sends a little now and then is given up after 30 seconds, and its connection is closed", () =>
  Effect.gen(function* () {
    const made = yield* site
    const begun = yield* Deferred.make<ServerResponse>()
    made.pages.set("/", (response) => {
      response.writeHead(200, { "content-type": "text/html" }).write("<p>One")
      Deferred.unsafeDone(begun, Effect.succeed(response))
    })
    const fetcher = yield* PageFetcher
    const reading = yield* Effect.fork(Effect.flip(fetcher.get(new URL(`${made.url}/`), 0, "page")))
    const response = yield* Deferred.await(begun)
    const closed = yield* Effect.fork(
      Effect.async<void>((resume) => {
        response.once("close", () => resume(Effect.void))
      })
    )
    for (let second = 1; second < 30; second++) {
      response.write(" more")
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.poll(reading)).toEqual(Option.none())
    }
    yield* TestClock.adjust("1 second")
    expect((yield* Fiber.join(reading)).reason).toBe("did not answer completely within 30 seconds")
    yield* Fiber.join(closed)
  }).pipe(Effect.provide(Reading))
)
