import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { describe } from "vitest"
import { type EmbeddingCheckOptions, embeddingChecks } from "../../src/testing/EmbeddingChecks.ts"
import { embeddingSuite } from "../../src/testing/EmbeddingSuite.ts"
import { type Expected, failing, namesOf } from "./Failing.ts"
import { type EmbeddingBug, referenceEmbedding } from "./ReferenceEmbedding.ts"

const options = (bug?: EmbeddingBug, sessions = 60): EmbeddingCheckOptions => ({
  layer: Layer.suspend(() => referenceEmbedding(bug)),
  sessions,
  faults: {
    refuses: referenceEmbedding(bug, "refuses"),
    hangs: referenceEmbedding(bug, "hangs"),
    closesEarly: referenceEmbedding(bug, "refuses"),
    sendsGarbage: referenceEmbedding(bug, "refuses")
  }
})

embeddingSuite({ name: "a correct embedding provider", time: "virtual", ...options(undefined, 1000) })

const declares = "declares its model, dimensions and limits, and is healthy"
const order = "embed returns a vector for each text in the order of the texts"
const same = "embed returns the same vector for the same text"
const near = "embed places similar texts nearer to each other than others"
const limits = "embed accepts texts in every script, and as many and as long ones as its limits allow"
const none = "embed of no texts returns no vectors"
const separate = "embed keeps concurrent requests separate"
const unchanged = "embed does not change vectors that it has returned"
const leaks = "many interrupted requests leave no fibers, timers or sockets behind"
const hanging = "embed can be interrupted when the peer hangs"
const refused = "embed fails with EmbeddingError when the peer refuses"
const early = "embed fails with EmbeddingError when the peer closes the connection early"
const garbage = "embed fails with EmbeddingError when the peer sends malformed data"

const embedding = [order, same, near, limits, separate, unchanged]

const expected: { readonly [B in EmbeddingBug]: Expected } = {
  throws: { allBut: [declares, leaks, hanging] },
  dies: { allBut: [declares, leaks, hanging] },
  hangs: { allBut: [declares, leaks, hanging] },
  fails: [...embedding, none],
  "declares no model": [declares],
  "declares half a dimension": [declares, ...embedding],
  "declares no limit": [declares],
  "drops the last vector": embedding,
  "reverses the vectors": [order],
  "returns other dimensions": embedding,
  "returns arrays": embedding,
  "returns zeros": embedding,
  "returns NaN": embedding,
  "returns random vectors": [order, same, separate],
  "turns texts around": [near],
  "fails for long texts": [limits],
  "fails for many texts": [limits],
  "fails for characters beyond latin-1": [limits],
  "dies without texts": [none],
  "mixes requests": [separate],
  "reuses its array": [near, unchanged],
  "leaks fibers": [leaks],
  "ignores interruption": [hanging],
  "answers although the peer failed": [refused, early, garbage]
}

describe("an embedding provider that", () => {
  for (const [bug, names] of Object.entries(expected) as ReadonlyArray<[EmbeddingBug, Expected]>) {
    it.effect(`"${bug}" fails its checks`, () =>
      Effect.gen(function* () {
        const checks = embeddingChecks(options(bug))
        expect(yield* failing(checks)).toEqual(namesOf(names, checks))
      })
    )
  }
})
