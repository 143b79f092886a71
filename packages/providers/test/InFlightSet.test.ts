import { describe, expect, it } from "@effect/vitest"
import { InFlightSet } from "@svc/providers/InFlightSet"

describe("InFlightSet", () => {
  it("has what was added and not removed, in the order in which it was added", () => {
    const set = new InFlightSet<string>()
    const [first, second, third] = ["first", "second", "third"].map((name) => set.add(name))
    expect([set.size, ...set]).toEqual([3, "first", "second", "third"])
    second?.()
    expect([set.size, ...set]).toEqual([2, "first", "third"])
    set.add("fourth")
    first?.()
    expect([set.size, ...set]).toEqual([2, "third", "fourth"])
    third?.()
    expect([set.size, ...set]).toEqual([1, "fourth"])
  })

  it("removes a value once, and that of its own addition only", () => {
    const set = new InFlightSet<string>()
    const remove = set.add("same")
    set.add("same")
    remove()
    remove()
    expect([set.size, ...set]).toEqual([1, "same"])
  })

  it("can be changed while its values are used, and used again when it was empty", () => {
    const set = new InFlightSet<() => void>()
    for (let added = 0; added < 3; added++) {
      const remove: () => void = set.add(() => remove())
    }
    for (const remove of set) {
      remove()
      set.add(() => {})()
    }
    expect([...set]).toEqual([])
    const again = () => {}
    set.add(again)
    expect([set.size, ...set]).toEqual([1, again])
  })
})
