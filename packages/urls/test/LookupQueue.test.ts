import { describe, expect, it } from "@effect/vitest"
import { type Answer, LookupQueue } from "../src/UrlSafety/LookupQueue.ts"

/** A line in front of a resolver that answers when the test says so. */
const lineOf = (atOnce: number) => {
  const asked: Array<string> = []
  const open = new Map<string, Answer>()
  const line = new LookupQueue((hostname, done) => {
    asked.push(hostname)
    open.set(hostname, done)
  }, atOnce)
  const heard: Array<readonly [who: string, what: string]> = []
  const resolve = (hostname: string, who = hostname) =>
    line.resolve(hostname, (error, addresses) => {
      const code = error !== null && "code" in error ? String(error.code) : undefined
      heard.push([who, code ?? addresses.map(({ address }) => address).join()])
    })
  const answer = (hostname: string, address: string) => {
    open.get(hostname)?.(null, [{ address, family: 4 }])
    open.delete(hostname)
  }
  return { asked, heard, resolve, answer, open }
}

describe("The line in front of the resolver", () => {
  it("lets two names that hang hold up two lookups, and goes on with the newest when one of them ends", () => {
    const { answer, asked, heard, resolve } = lineOf(2)
    for (const name of ["hangs1", "hangs2", "a", "b"]) resolve(name)
    expect(asked).toEqual(["hangs1", "hangs2"])
    answer("hangs1", "1.1.1.1")
    expect(asked).toEqual(["hangs1", "hangs2", "b"])
    answer("b", "2.2.2.2")
    answer("a", "3.3.3.3")
    expect(heard).toEqual([
      ["hangs1", "1.1.1.1"],
      ["b", "2.2.2.2"],
      ["a", "3.3.3.3"]
    ])
  })
  it("looks a name up once for all who ask for it meanwhile, and anew for who asks later", () => {
    const { answer, asked, heard, resolve } = lineOf(1)
    for (let n = 0; n < 50; n++) resolve("a", `first ${n}`)
    expect(asked).toEqual(["a"])
    answer("a", "1.1.1.1")
    expect(heard).toHaveLength(50)
    expect(new Set(heard.map(([, address]) => address))).toEqual(new Set(["1.1.1.1"]))
    resolve("a", "later")
    answer("a", "2.2.2.2")
    expect(asked).toEqual(["a", "a"])
    expect(heard.at(-1)).toEqual(["later", "2.2.2.2"])
  })
  it("tells failures as they are, and goes on", () => {
    const { asked, heard, open, resolve } = lineOf(1)
    resolve("a")
    resolve("b")
    open.get("a")?.(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }), [])
    expect(heard).toEqual([["a", "ENOTFOUND"]])
    expect(asked).toEqual(["a", "b"])
  })
  it("takes an answer that comes at once, and one who asks again from within it", () => {
    const asked: Array<string> = []
    const line = new LookupQueue((hostname, done) => {
      asked.push(hostname)
      done(null, [])
    }, 1)
    let heard = 0
    line.resolve("a", () => {
      heard++
      line.resolve("a", () => heard++)
    })
    expect([asked, heard]).toEqual([["a", "a"], 2])
  })
  it("refuses the oldest when more than a thousand wait", () => {
    const { answer, asked, heard, resolve } = lineOf(1)
    resolve("hangs")
    for (let n = 0; n < 1003; n++) resolve(`name${n}`)
    expect(heard).toEqual([0, 1, 2].map((n) => [`name${n}`, "EAI_AGAIN"]))
    answer("hangs", "1.1.1.1")
    expect(asked).toEqual(["hangs", "name1002"])
  })
})
