import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { describe } from "vitest"
import { objectStoreChecks } from "../../src/testing/ObjectStoreChecks.ts"
import type { ObjectStoreCheckOptions } from "../../src/testing/ObjectStoreHarness.ts"
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

const unaffected = ["is healthy", "size can be interrupted when the peer hangs"]

const expected: { readonly [B in ObjectStoreBug]: Expected } = {
  throws: {
    allBut: [...unaffected, "size returns none and read fails for an unknown object"]
  },
  dies: { allBut: unaffected },
  hangs: { allBut: unaffected },
  fails: {
    allBut: [
      ...unaffected,
      "write, read and remove fail with ObjectStoreError for an invalid key",
      "all methods fail with ObjectStoreError when the peer refuses"
    ]
  },
  "reorders appended bytes": [
    "stores the appended bytes in order",
    "recover makes an object of a prefix of what an unfinished writer appended, or returns none",
    "keeps 50 concurrently written objects separate"
  ],
  "keeps a reference to appended arrays": ["append does not keep a reference to the array"],
  "exposes unfinished objects": [
    "an object does not exist before finish",
    "an existing object is replaced only by finish",
    "recover makes an object of a prefix of what an unfinished writer appended, or returns none"
  ],
  "deletes the existing object before finish": ["an existing object is replaced only by finish"],
  "ignores ranges": ["read returns exactly the requested range"],
  "treats the end of a range as inclusive": ["read returns exactly the requested range"],
  "reads unknown objects as empty": [
    "an object does not exist before finish",
    "size returns none and read fails for an unknown object",
    "remove deletes one object and succeeds for an unknown one",
    "recover makes an object of a prefix of what an unfinished writer appended, or returns none"
  ],
  "removes all objects": ["remove deletes one object and succeeds for an unknown one"],
  "fails to remove an unknown object": [
    "remove deletes one object and succeeds for an unknown one",
    "remove deletes what an unfinished writer appended"
  ],
  "recovers other bytes": [
    "recover makes an object of a prefix of what an unfinished writer appended, or returns none"
  ],
  "recovers unknown objects": [
    "recover returns the size of a finished object and none for an unknown one",
    "remove deletes what an unfinished writer appended"
  ],
  "recover deletes finished objects": [
    "recover makes an object of a prefix of what an unfinished writer appended, or returns none",
    "recover returns the size of a finished object and none for an unknown one"
  ],
  "remove keeps the bytes of an unfinished writer": ["remove deletes what an unfinished writer appended"],
  "mixes objects": [
    "an existing object is replaced only by finish",
    "remove deletes one object and succeeds for an unknown one",
    "keeps 50 concurrently written objects separate"
  ],
  "accepts any key": ["write, read and remove fail with ObjectStoreError for an invalid key"],
  "leaks fibers": ["many partial reads and unfinished writers leave no fibers, timers or sockets behind"],
  "completes although the peer refused": ["all methods fail with ObjectStoreError when the peer refuses"]
}

describe("an object store that", () => {
  for (const [bug, names] of Object.entries(expected) as ReadonlyArray<[ObjectStoreBug, Expected]>) {
    it.effect(`"${bug}" fails its checks`, () =>
      Effect.gen(function* () {
        const checks = objectStoreChecks(options(bug))
        expect(yield* failing(checks)).toEqual(namesOf(names, checks))
      })
    )
  }
})
