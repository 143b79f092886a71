import { describe, expect, it } from "@effect/vitest"
import { cutText, cutTo, maxPassage, type Passage } from "../src/PassageCutter.ts"

const cut = (text: string, context: string | null = null): ReadonlyArray<Passage> =>
  [...cutText(text, context)].filter((passage) => passage !== undefined)

const sentence = (n: number) => `This is sentence number ${n} of a text that is long enough to be cut.`
const sentences = (count: number) => Array.from({ length: count }, (_, n) => sentence(n)).join(" ")

describe("cutText", () => {
  it("keeps a short text in one passage", () => {
    expect(cut("  We are open.\r\n\r\nCall us. ")).toEqual([{ heading: null, text: "We are open.\n\nCall us." }])
    expect(cut("\ufeffHello")).toEqual([{ heading: null, text: "Hello" }])
  })

  it("makes no passage of nothing", () => {
    for (const text of ["", " \n\t\n", "\ufeff", "```\n```"]) expect(cut(text)).toEqual([])
  })

  it("begins a passage at each heading, with the headings above it", () => {
    const text = "Intro.\n\n# Shop\nA shop.\n## Hours ##\nNine to five.\n# Contact\nCall us."
    expect(cut(text)).toEqual([
      { heading: null, text: "Intro." },
      { heading: "Shop", text: "A shop." },
      { heading: "Shop > Hours", text: "Nine to five." },
      { heading: "Contact", text: "Call us." }
    ])
    expect(cut("Shop\n====\nA shop.\n\nHours\n---\nNine to five.", "Page")).toEqual([
      { heading: "Page > Shop", text: "A shop." },
      { heading: "Page > Shop > Hours", text: "Nine to five." }
    ])
  })

  it("keeps a heading with nothing below it as text", () => {
    expect(cut("# Shop\n## No dogs\n## Hours\nNine to five.\n# Closed")).toEqual([
      { heading: "Shop", text: "No dogs" },
      { heading: "Shop > Hours", text: "Nine to five." },
      { heading: null, text: "Closed" }
    ])
  })

  it("takes no heading from code, from a number sign alone, or from a long line", () => {
    expect(cut("```\n# a comment\nx = 1\n```")).toEqual([{ heading: null, text: "# a comment\nx = 1" }])
    expect(cut("#1 in town")[0]?.heading).toBeNull()
    expect(cut(`# ${"x".repeat(300)}`)[0]?.heading).toBeNull()
  })

  it("cuts a long text at sentences and repeats the last one or two", () => {
    const passages = cut(sentences(60))
    expect(passages.length).toBeGreaterThan(4)
    for (const [index, { text }] of passages.entries()) {
      expect(text.length).toBeLessThanOrEqual(maxPassage)
      expect(text).toMatch(/^This .* cut\.$/s)
      const next = passages[index + 1]?.text
      const last = text.slice(text.lastIndexOf("This is"))
      if (next !== undefined) expect(next.indexOf(last)).toBeLessThan(200)
    }
    for (let n = 0; n < 60; n++) expect(passages.some(({ text }) => text.includes(sentence(n)))).toBe(true)
  })

  it("ends a passage before a paragraph that does not fit", () => {
    const first = sentences(8)
    const second = `Second. ${sentences(6)}`
    expect(cut(`${first}\n\n${second}`).map(({ text }) => text)).toEqual([first, second])
  })

  it("keeps list items on lines of their own", () => {
    expect(cut("We sell:\n- bread\n- cake\n1. tea")[0]?.text).toBe("We sell:\n- bread\n- cake\n1. tea")
  })

  it("cuts what has no sentences between words, and what has no words anywhere but in a character", () => {
    const words = cut("word ".repeat(1000))
    expect(
      words.every(({ text }) => text.length <= maxPassage && text.startsWith("word") && text.endsWith("word"))
    ).toBe(true)
    const emoji = cut("😀".repeat(1000) + "x")
    expect(emoji.map(({ text }) => text).join("")).toBe("😀".repeat(1000) + "x")
    expect(emoji.every(({ text }) => text.isWellFormed())).toBe(true)
    const chinese = cut("这是一个很长的句子，用来测试没有空格的语言的切分效果如何。".repeat(60))
    expect(chinese.every(({ text }) => text.endsWith("。"))).toBe(true)
  })

  it("loses no word of a text", () => {
    const words = Array.from(
      { length: 20_000 },
      (_, n) => `w${n}${n % 7 === 0 ? "." : ""}${n % 50 === 0 ? "\n\n" : ""}`
    )
    const found = new Set(cut(words.join(" ")).flatMap(({ text }) => text.match(/w[0-9]+/g) ?? []))
    expect(found.size).toBe(20_000)
  })

  it.each([
    ["line ends", "\n"],
    ["spaces", " "],
    ["full stops", "."],
    ["letters", "x"],
    ["number signs", "#"],
    ["headings", "# a\n"],
    ["list signs", "- \n"],
    ["code fences", "```\n"],
    ["quotes", '."'],
    ["underlines", "---\n"]
  ])("keeps passages short in 500,000 characters of %s", (_, unit) => {
    const text = unit.repeat(Math.floor(500_000 / unit.length))
    let length = 0
    for (const passage of cutText(text)) {
      length = Math.max(length, passage?.text.length ?? 0)
    }
    expect(length).toBeLessThanOrEqual(maxPassage)
  })
})

it("a text that is cut to a number of characters does not end with half an emoji", () => {
  expect([cutTo("ab😀", 3), cutTo("ab😀", 4), cutTo("ab😀c", 4), cutTo("ab", 5), cutTo("😀", 1)]).toEqual([
    "ab",
    "ab😀",
    "ab😀",
    "ab",
    ""
  ])
})
