import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { describe } from "vitest"
import { type ObjectStoreCheckOptions, objectStoreChecks } from "../../src/testing/ObjectStoreChecks.ts"
import { objectStoreSuite } from "../../src/testing/ObjectStoreSuite.ts"
import { type Expected, failing, namesOf } from "./Failing.ts"
import { type ObjectStoreBug, referenceObjectStore } from "./ReferenceObjectStore.ts"

const options = (bug?: ObjectStoreBug, sessions = 60): ObjectStoreCheckOptions => ({
  layer: Layer.suspend(() => referenceObjectStore(bug)),
  sessions,
  faults: {
    refuses: referenceObjectStore(bug, "refuses"),
    hangs: referenceObjectStore(bug, "hangs")
  }
})

objectStoreSuite({ name: "a correct object store", time: "virtual", ...options(undefined, 1000) })

const unaffected = ["is healthy", "peer hangs: can be interrupted"]

const expected: { readonly [B in ObjectStoreBug]: Expected } = {
  throws: {
    allBut: [...unaffected, "tells of an unknown object that it is not there"]
  },
  dies: { allBut: unaffected },
  hangs: { allBut: unaffected },
  fails: {
    allBut: [...unaffected, "refuses keys that are none with a typed error", "peer refuses: fails with typed errors"]
  },
  reorders: [
    "keeps what was appended, in its order",
    "makes an object of what a writer has left that is gone, or has none",
    "keeps 50 objects that are written at once apart"
  ],
  "keeps the caller's array": ["keeps the bytes of an array that is used again after the append"],
  "shows unfinished objects": [
    "has no object before it is finished",
    "keeps the former object until the new one of its key is finished",
    "makes an object of what a writer has left that is gone, or has none"
  ],
  "drops the former object at once": ["keeps the former object until the new one of its key is finished"],
  "ignores ranges": ["reads any part"],
  "takes the end as the last byte": ["reads any part"],
  "reads unknown objects as empty": [
    "has no object before it is finished",
    "tells of an unknown object that it is not there",
    "removes an object, and is not troubled by what is not there",
    "makes an object of what a writer has left that is gone, or has none"
  ],
  "removes too much": ["removes an object, and is not troubled by what is not there"],
  "fails to remove what is not there": [
    "removes an object, and is not troubled by what is not there",
    "removes what a writer has left"
  ],
  "recovers garbage": ["makes an object of what a writer has left that is gone, or has none"],
  "recovers what never was": [
    "recovers an object that was finished, and nothing where nothing is",
    "removes what a writer has left"
  ],
  "forgets finished objects when it recovers": [
    "makes an object of what a writer has left that is gone, or has none",
    "recovers an object that was finished, and nothing where nothing is"
  ],
  "keeps what was left when it removes": ["removes what a writer has left"],
  "mixes objects": [
    "keeps the former object until the new one of its key is finished",
    "removes an object, and is not troubled by what is not there",
    "keeps 50 objects that are written at once apart"
  ],
  "takes any key": ["refuses keys that are none with a typed error"],
  "leaks fibers": ["leaves nothing behind of objects that are read in part and writers that are given up"],
  "completes though the peer broke": ["peer refuses: fails with typed errors"]
}

describe("an object store that", () => {
  for (const [bug, names] of Object.entries(expected) as ReadonlyArray<[ObjectStoreBug, Expected]>) {
    it.effect(`"${bug}" is found out`, () =>
      Effect.gen(function* () {
        const checks = objectStoreChecks(options(bug))
        expect(yield* failing(checks)).toEqual(namesOf(names, checks))
      })
    )
  }
})
