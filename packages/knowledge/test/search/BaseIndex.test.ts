import { expect, it } from "@effect/vitest"
import { BaseIndex } from "../../src/search/BaseIndex.ts"
import { BoundedMemory } from "../../src/search/BoundedMemory.ts"

/** The index of a base in which the first term is in one passage, the second in two, and so on up to 9. */
const indexOf = (...words: ReadonlyArray<string>): BaseIndex => {
  const terms = words.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  const counts = Buffer.alloc(2 * terms.length)
  const postings: Array<number> = []
  for (const [index] of terms.entries()) {
    const count = Math.min(index + 1, 9)
    counts.writeUInt16BE(count, 2 * index)
    for (let position = 0; position < count; position++) postings.push(0, position, 3, 232)
  }
  return new BaseIndex({
    version: 1,
    passages: terms.length,
    terms: terms.join("\n"),
    counts,
    postings: Uint8Array.from(postings)
  })
}

const similar = (index: BaseIndex, word: string): ReadonlyArray<string> => {
  const steps = index.makeTrigrams()
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value.similar(word, index.find(word)).map(({ term }) => index.term(term))
}

it("an index finds each of its terms, also outside of Latin letters, with the passages that have it", () => {
  // In UTF-16 the last two are in another order than in bytes.
  const words = ["apple", "app", "äpfel", "zebra", "вода", "水", "a", "\ufb01", "\u{10400}"]
  const index = indexOf(...words)
  for (const word of words) {
    const number = index.find(word)
    expect(number, word).toBeDefined()
    expect(index.term(number ?? -1)).toBe(word)
    expect(index.having(number ?? -1)).toBe((number ?? -1) + 1)
    expect(index.postings(number ?? -1)).toHaveLength(4 * ((number ?? -1) + 1))
  }
  for (const word of ["", "ap", "apples", "zz", "в", "\n"]) expect(index.find(word), word).toBeUndefined()
})

it("an index without terms finds none", () => {
  const index = indexOf()
  expect([index.count, index.find("a"), similar(index, "apple")]).toEqual([0, undefined, []])
})

it("similar terms are those with most of the trigrams, and compounds that have the word as a part", () => {
  const index = indexOf("bicycle", "bicycles", "motorcycle", "kündigungsfrist", "frist", "banana", "abc")
  expect(similar(index, "bicicle")).toEqual(["bicycle", "bicycles"])
  expect(similar(index, "bicycle")).toEqual(["bicycles", "motorcycle"])
  expect(similar(index, "kündigung")).toEqual(["kündigungsfrist"])
  expect(similar(index, "xylophone")).toEqual([])
})

it("a trigram that a term or a word has several times counts once", () => {
  // They share "ana" and "nan", which the first has 3 and 4 times.
  expect(similar(indexOf("cananananal"), "banananana")).toEqual([])
})

it("terms shorter than 4 characters or longer than 40 are not compared", () => {
  const long = "ab".repeat(30)
  expect(similar(indexOf("abc", long), "abcd")).toEqual([])
  expect(similar(indexOf(long), long.slice(0, 40))).toEqual([])
})

it("all terms of a large base are compared, and those that are alike in most ways come first", () => {
  const words = Array.from({ length: 70_000 }, (_, n) => `w${(n * 7919).toString(36)}x${n.toString(36)}`)
  const index = indexOf(...words.slice(0, 30_000))
  expect(similar(index, "telephone")).toEqual([])
  const large = indexOf(...words.slice(0, 200), "telephone", "telephones", "telefone", "telegraph")
  expect(similar(large, "telehpone")).toEqual(["telefone", "telephone", "telephones", "telegraph"])
})

it("memory drops the values that were not used for longest when it has more bytes than it may", () => {
  const memory = new BoundedMemory<string, { readonly bytes: number }>(100)
  const [a, b, c] = [{ bytes: 40 }, { bytes: 40 }, { bytes: 40 }]
  memory.set("a", a)
  memory.set("b", b)
  expect(memory.get("a")).toBe(a)
  memory.set("c", c)
  expect([memory.get("a"), memory.get("b"), memory.get("c"), memory.bytes]).toEqual([a, undefined, c, 80])
  memory.set("a", { bytes: 70 })
  expect([memory.get("c"), memory.bytes]).toEqual([undefined, 70])
  memory.set("d", { bytes: 101 })
  expect([memory.get("d"), memory.bytes]).toEqual([undefined, 0])
})
