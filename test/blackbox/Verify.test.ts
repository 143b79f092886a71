import { expect, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"

const path = "/v1/verify/match"
const body = { expected: "3 May 1984", actual: "the third of may nineteen eighty-four" }

layer(BlackBox.layer, { timeout: "90 seconds", excludeTestServices: true })("POST /v1/verify/match", (it) => {
  it.effect("tells whether answers match, by the threshold, with a score", () =>
    Effect.gen(function* () {
      const { api } = yield* BlackBox
      const answers: ReadonlyArray<readonly [object, object]> = [
        [body, { match: true, score: 1 }],
        [
          { expected: "1984", actual: "neunzehnhundertvierundachtzig" },
          { match: true, score: 1 }
        ],
        [
          { expected: "1234", actual: "one two three five" },
          { match: false, score: 0 }
        ],
        [
          { expected: "1234", actual: "1235", threshold: 0 },
          { match: false, score: 0 }
        ],
        [
          { expected: "John Smith", actual: "Jon Smyth" },
          { match: true, score: 0.9 }
        ],
        [
          { expected: "John Smith", actual: "Jon Smyth", threshold: 1 },
          { match: false, score: 0.9 }
        ],
        [
          { expected: "John Smith", actual: "John", threshold: 0.6 },
          { match: true, score: 0.6154 }
        ],
        [
          { expected: "John Smith", actual: "" },
          { match: false, score: 0 }
        ],
        [
          { expected: "...", actual: "..." },
          { match: false, score: 0 }
        ],
        [
          { expected: "😀".repeat(1000), actual: "\u0301".repeat(1000) },
          { match: false, score: 0 }
        ]
      ]
      for (const [question, answer] of answers) {
        const reply = yield* api.post(path, question)
        expect([question, reply.status, reply.body]).toEqual([question, 200, answer])
      }
    })
  )

  it.effect("names the fields that are wrong", () =>
    Effect.gen(function* () {
      const { api } = yield* BlackBox
      const threshold = "threshold must be between 0 and 1"
      const wrong: ReadonlyArray<readonly [object, object]> = [
        [{}, { expected: "expected is required.", actual: "actual is required." }],
        [{ ...body, expected: " " }, { expected: "expected is required." }],
        [{ ...body, actual: null }, { actual: "actual must be a string" }],
        [{ ...body, expected: 1234 }, { expected: "expected must be a string" }],
        [{ ...body, expected: "x".repeat(1001) }, { expected: "expected must not exceed 1000 characters" }],
        [{ ...body, actual: " ".repeat(500_000) }, { actual: "actual must not exceed 1000 characters" }],
        ...[-0.1, 1.1, 80, "0.8", null, true].map((value) => [{ ...body, threshold: value }, { threshold }] as const)
      ]
      for (const [question, details] of wrong) {
        const reply = yield* api.post(path, question)
        expect([reply.status, reply.body["code"], reply.body["details"]]).toEqual([400, "VALIDATION_ERROR", details])
      }
    })
  )

  it.effect("takes an org key without X-Project-Id, and refuses a read key and a missing one", () =>
    Effect.gen(function* () {
      const { api, keys, url } = yield* BlackBox
      const post = (headers: { readonly [name: string]: string }) =>
        ApiClient.call(url + path, "POST", { headers, json: body })
      const org = yield* post({ authorization: `Bearer ${Redacted.value(keys.org)}` })
      expect([org.status, org.body]).toEqual([200, { match: true, score: 1 }])
      const made = yield* api.post("/v1/project/api-keys", { scope: "read" })
      const reader = yield* post({ "x-api-key": ApiClient.textAt(made.body, "key") })
      expect([reader.status, reader.body["code"]]).toEqual([403, "READ_ONLY_KEY"])
      const none = yield* post({})
      expect([none.status, none.body["code"]]).toEqual([401, "MISSING_API_KEY"])
    })
  )
})
