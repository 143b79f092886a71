import { describe, expect, it } from "@effect/vitest"
import { RecentSids } from "../src/RecentSids.ts"

describe("Recent SIDs", () => {
  it("are forgotten from the oldest on when there are more than the limit", () => {
    const sids = new RecentSids(2)
    for (const sid of ["CA1", "CA2", "CA2", "CA3"]) sids.add(sid)
    expect([sids.has("CA1"), sids.has("CA2"), sids.has("CA3"), sids.size]).toEqual([false, true, true, 2])
    sids.delete("CA2")
    for (let n = 0; n < 1000; n++) sids.add(`CB${n}`)
    expect([sids.has("CA3"), sids.size]).toEqual([false, 2])
  })
})
