import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { spokenText, writtenLength } from "../src/SpokenText.ts"

const spoken = (text: string) => spokenText(text).text

describe("the spoken form of a text", () => {
  it.each([
    ["We open at 9 o'clock, 7 days a week.", "We open at 9 o'clock, 7 days a week."],
    ["This is **very** *important* and __bold__ and _thin_.", "This is very important and bold and thin."],
    ["***Wow***, ~~not~~ this!", "Wow, not this!"],
    ["2*3 is 6, and 4 * 5 is 20.", "2*3 is 6, and 4 * 5 is 20."],
    ["The file is snake_case_name.", "The file is snake case name."],
    [
      "Write to john_doe@x.com. See www.x.com/a_b or a_b.txt.",
      "Write to john_doe@x.com. See www.x.com/a_b or a_b.txt."
    ],
    ["Dial *72 or *31 or #9 now.", "Dial *72 or *31 or #9 now."],
    ["Press *, then 1. Or 0-9, *, # only, or *.", "Press *, then 1. Or 0-9, *, # only, or *."],
    ["It is *at 9*, *very* near.", "It is at 9, very near."],
    ["A long *emphasis, that goes", "A long emphasis, that goes"],
    ["on* in another piece.", "on in another piece."],
    ["Hi. <think>He\nis late.</think>Bye. <thinking>x</thinking>", "Hi. Bye."],
    ["# Opening hours\nNine to five.", "Opening hours\nNine to five."],
    ["> Quoted\n> twice", "Quoted\ntwice"],
    ["- apples\n* pears\n+ plums\n• figs", "apples\npears\nplums\nfigs"],
    ["1. First.\n2. Second.", "1. First.\n2. Second."],
    ["- [ ] open\n- [x] done", "open\ndone"],
    ["Run `npm start` now.", "Run npm start now."],
    ["```js\nlet a\n```", "let a"],
    ["Above\n\n---\n\nBelow", "Above\n\n\n\nBelow"],
    ['See [our site](https://example.com/a?b=c "Title").', "See our site."],
    ["![A cat](cat.png) is here", "A cat is here"],
    ["Visit https://example.com/help or http://a.org.", "Visit example.com/help or a.org."],
    ["Write to <mailto:info@example.com>.", "Write to info@example.com."],
    ["Call tel:+31201234567", "Call +31201234567"],
    ["A<br>b <b>bold</b>, 3 < 4 and 5 > 2", "A b bold, 3 < 4 and 5 > 2"],
    ["| Day | Hours |\n|---|---|\n| Monday | 9-5 |", "Day, Hours\n\nMonday, 9-5"],
    ["Great! 🎉👍🏽 See you 👨‍👩‍👧 soon ❤️ 🇳🇱 1️⃣.", "Great! See you soon ."],
    ["© Svc™ ® 2026", "© Svc™ ® 2026"],
    ["🎉", ""],
    ["**", ""]
  ])("of %j is %j", (text, expected) => {
    expect(spoken(text)).toBe(expected)
  })

  it("has the pronunciations of whole words, whatever their case, the longest first", () => {
    const pronunciations = [
      { text: "SQL", say: "sequel" },
      { text: "SQL Server", say: "sequel serving machine" },
      { text: "C++", say: "see plus plus" },
      { text: "Nguyễn", say: "win" },
      { text: "sql", say: "never" }
    ]
    const said = (text: string) => spokenText(text, pronunciations).text
    expect(said("SQL, sql and NoSQL.")).toBe("sequel, sequel and NoSQL.")
    expect(said("The sql server")).toBe("The sequel serving machine")
    expect(said("I like C++.")).toBe("I like see plus plus.")
    expect(said("Mr NGUYỄN or Nguyễnx")).toBe("Mr win or Nguyễnx")
    expect(said("**SQL**")).toBe("sequel")
  })
})

describe("a cut in the spoken form", () => {
  const text = "It is **very** nice: see [here](https://example.com) 🎉 now."

  it.each([
    ["It is ", "It is **"],
    ["It is very", "It is **very**"],
    ["It is very nice: see ", "It is **very** nice: see ["],
    ["It is very nice: see here now.", text]
  ])("after %j is found in the model's text", (played, written) => {
    expect(text.slice(0, writtenLength(spokenText(text), played, text))).toBe(written)
  })

  it("within the pronunciation of a word is before the word", () => {
    const spokenForm = spokenText("Use SQL now", [{ text: "SQL", say: "sequel" }])
    expect(writtenLength(spokenForm, "Use seq", "Use SQL now")).toBe("Use ".length)
    expect(writtenLength(spokenForm, "Use sequel", "Use SQL now")).toBe("Use SQL".length)
  })

  it("never goes back when more is played, in any text", () => {
    const piece = fc.constantFrom("**", "_", "a", "SQL", " ", "\n", "- ", "🎉", "](", "[", "https://", "`", "|", "1. ")
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const written = pieces.join("")
        const form = spokenText(written, [{ text: "SQL", say: "sequel" }])
        expect(form.origins).toHaveLength(form.text.length)
        const cuts = Array.from({ length: form.text.length + 1 }, (_, i) =>
          writtenLength(form, form.text.slice(0, i), written)
        )
        expect(cuts).toEqual(cuts.toSorted((a, b) => a - b))
        expect(cuts.at(-1)).toBe(written.length)
      })
    )
  })

  it("takes time that grows with the text only", () => {
    for (const hostile of [
      "*".repeat(20_000),
      "[".repeat(20_000),
      "<think>".repeat(3000),
      "a_".repeat(10_000),
      "*a ".repeat(7000),
      "*".repeat(20_000),
      "<a ".repeat(7000),
      "_a".repeat(10_000),
      "|-".repeat(10_000)
    ]) {
      expect(spoken(hostile).length).toBeLessThanOrEqual(hostile.length * 2)
    }
  })
})
