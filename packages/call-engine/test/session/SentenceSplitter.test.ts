import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type Piece, SentenceSplitter } from "../../src/session/SentenceSplitter.ts"

/** The sentences, without a first clause of its own. */
const split = (...chunks: ReadonlyArray<string>): ReadonlyArray<string> =>
  splitWith(new SentenceSplitter(false), chunks)

const splitWith = (splitter: SentenceSplitter, chunks: ReadonlyArray<string>): ReadonlyArray<string> => {
  return piecesWith(splitter, chunks).map(({ text }) => text)
}

const piecesWith = (splitter: SentenceSplitter, chunks: ReadonlyArray<string>): ReadonlyArray<Piece> => {
  const pieces = chunks.flatMap((chunk) => splitter.push(chunk))
  const rest = splitter.rest()
  return rest === null ? pieces : [...pieces, rest]
}

describe("SentenceSplitter", () => {
  it.each([
    ["Good morning. How are you? Fine!", ["Good morning.", "How are you?", "Fine!"]],
    ["I spoke to Dr. Smith. He agrees.", ["I spoke to Dr. Smith.", "He agrees."]],
    ["Ask for J. Doe in room no. 5. Thanks.", ["Ask for J. Doe in room no. 5.", "Thanks."]],
    ["We open at 9 a.m. on Mondays. See you.", ["We open at 9 a.m. on Mondays.", "See you."]],
    ["That costs 3.50 euros. Fine?", ["That costs 3.50 euros.", "Fine?"]],
    ["Visit example.com today. Bye now.", ["Visit example.com today.", "Bye now."]],
    ['He said "come here." Then he left.', ['He said "come here."', "Then he left."]],
    ["Really?! You are sure... Good.", ["Really?!", "You are sure...", "Good."]],
    ["One moment… I am looking.", ["One moment…", "I am looking."]],
    ["No end", ["No end"]],
    ["First line\nSecond line\n\nThird", ["First line", "Second line", "Third"]],
    ["These are:\n- one thing\n- another", ["These are:", "- one thing", "- another"]],
    ["Ok. Yes. No. I will look it up. Wait.", ["Ok. Yes.", "No. I will look it up.", "Wait."]],
    ["Dat is bijv. morgen goed. Tot dan.", ["Dat is bijv. morgen goed.", "Tot dan."]],
    ["The steps are: 1. Turn it off. 2. Wait.", ["The steps are: 1. Turn it off.", "2. Wait."]],
    ["1. Turn it off now.\n2. Wait a minute.", ["1. Turn it off now.", "2. Wait a minute."]],
    ["我们九点开门。请问您想预订吗？好的！", ["我们九点开门。", "请问您想预订吗？", "好的！"]],
    ["「はい、そうです。」と言いました。次です。", ["「はい、そうです。」", "と言いました。", "次です。"]],
    ["   \n  ", []],
    ["", []]
  ])("splits %j", (text, sentences) => {
    expect(split(text)).toEqual(sentences)
    expect(split(...text)).toEqual(sentences)
  })

  it("returns a sentence as soon as the next word begins", () => {
    const splitter = new SentenceSplitter()
    expect(splitter.push("Good morning.")).toEqual([])
    expect(splitter.push(" ")).toEqual([{ text: "Good morning.", space: "" }])
    expect(splitter.rest()).toBeNull()
    expect(splitter.push("Next one here.\n")).toEqual([{ text: "Next one here.", space: " " }])
  })

  it("cuts a long sentence at a comma, else at a space, else anywhere", () => {
    const commas = `${"word ".repeat(30).trim()}, ${"word ".repeat(40)}`
    expect(split(commas)[0]).toBe(`${"word ".repeat(30).trim()},`)
    for (const part of split("word ".repeat(500))) expect(part.length).toBeLessThanOrEqual(240)
    expect(split(`x${"😀".repeat(300)}`).every((s) => s.isWellFormed())).toBe(true)
    expect(split("x".repeat(1000)).map((s) => s.length)).toEqual([240, 240, 240, 240, 40])
    const long = `${"word ".repeat(60)}end. Next sentence.`
    expect(split(long).at(-1)).toBe("Next sentence.")
    expect(split(...long)).toEqual(split(long))
  })

  it.each([
    [
      "after a whole sentence leaves out what has no end",
      "That is twenty euros. And the deliv",
      ["That is twenty euros."]
    ],
    ["after a whole line does so too", "- one euro\n- two eu", ["- one euro"]],
    ["keeps a last sentence that is whole", "That is it. Good bye now!", ["That is it.", "Good bye now!"]],
    ["leaves out the last word of the first sentence", "That is twenty eur", ["That is twenty"]],
    ["keeps a last word that is whole", "That is twenty ", ["That is twenty"]],
    ["goes on after a clause", "We are open from nine, and close at fi", ["We are open from nine,", "and close at"]],
    ["keeps what has no spaces", "我们九点开", ["我们九点开"]]
  ])("that is cut %s", (_, text, said) => {
    const splitter = new SentenceSplitter()
    const pieces = chunksOf(text, 4).flatMap((chunk) => splitter.push(chunk))
    const rest = splitter.rest(true)
    expect([...pieces, ...(rest === null ? [] : [rest])].map((piece) => piece.text)).toEqual(said)
    expect(splitter.rest()).toBeNull()
  })

  const chunksOf = (text: string, size: number): ReadonlyArray<string> =>
    text.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? []
  const clauses = (text: string, size = 4): ReadonlyArray<string> =>
    splitWith(new SentenceSplitter(), chunksOf(text, size))

  it("keeps the white space between sentences, up to 100 characters", () => {
    const text = "\n We are open:\n\n- Mondays, at nine.\n  - Tuesdays.  Good bye.\n"
    for (const size of [1, 3, 100])
      expect(piecesWith(new SentenceSplitter(), chunksOf(text, size)).map(({ space }) => space)).toEqual([
        "",
        "\n\n",
        "\n  ",
        "  "
      ])
    expect(piecesWith(new SentenceSplitter(), [`It is so.${"\n".repeat(5000)}Yes.`])[1]?.space).toBe("\n".repeat(100))
  })

  it.each([
    [
      "We are open from nine, and close at five. Come by.",
      ["We are open from nine,", "and close at five.", "Come by."]
    ],
    ["Yes, of course, I can do that now. Fine.", ["Yes, of course, I can do that now.", "Fine."]],
    ["Yes, of course I can, on Monday, at nine.", ["Yes, of course I can,", "on Monday, at nine."]],
    ["Unfortunately nothing; try again later.", ["Unfortunately nothing;", "try again later."]],
    [
      "It costs 3,500 euros, or 3.5 thousand: less, that is.",
      ["It costs 3,500 euros,", "or 3.5 thousand: less, that is."]
    ],
    ["We are open from 10:30 to 11 – then no more.", ["We are open from 10:30 to 11 –", "then no more."]],
    ["Dr. Smith, e.g. today, has time. Ok then.", ["Dr. Smith, e.g. today,", "has time.", "Ok then."]],
    ["Here is what we have:\n- one thing\n- another", ["Here is what we have:", "- one thing", "- another"]],
    [
      "A whole sentence without any mark. And, of course, more.",
      ["A whole sentence without any mark.", "And, of course, more."]
    ],
    ["您好，我们今天营业，直到晚上九点。再见。", ["您好，我们今天营业，", "直到晚上九点。", "再见。"]],
    ["ร้านของเราเปิดเก้าโมงเช้า และปิดห้าโมงเย็น", ["ร้านของเราเปิดเก้าโมงเช้า", "และปิดห้าโมงเย็น"]]
  ])("returns the first clause of %j on its own, and then sentences", (text, pieces) => {
    for (const size of [1, 2, 3]) expect(clauses(text, size)).toEqual(pieces)
  })

  it("returns the first clause as soon as the next word begins", () => {
    const splitter = new SentenceSplitter()
    expect(splitter.push("We are open ")).toEqual([])
    expect(splitter.push("from nine,")).toEqual([])
    expect(splitter.push(" and")).toEqual([{ text: "We are open from nine,", space: "" }])
    expect(splitter.push(" close at five, or six,")).toEqual([])
    expect(splitter.rest()).toEqual({ text: "and close at five, or six,", space: " " })
  })

  it("returns no clause of a text that comes as a whole", () => {
    const splitter = new SentenceSplitter()
    expect(splitter.push("We are open from nine, and close at five")).toEqual([])
    expect(splitter.rest()).toEqual({ text: "We are open from nine, and close at five", space: "" })
  })

  const piece = fc.constantFrom(
    ...'abc. ,? !\n:1…"”)'.split(""),
    "Dr. ",
    "e.g. ",
    "hello ",
    "world. ",
    "x".repeat(30),
    "word ".repeat(25),
    ", ",
    "...",
    "\n\n",
    "😀"
  )
  const text = fc.array(piece, { maxLength: 200 }).map((pieces) => pieces.join(""))

  it("returns the same sentences however the text is chunked", () => {
    fc.assert(
      fc.property(text, fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 50 }), (whole, sizes) => {
        const chunks: Array<string> = []
        for (let at = 0, i = 0; at < whole.length; i++) {
          const size = sizes[i % sizes.length] ?? 1
          chunks.push(whole.slice(at, at + size))
          at += size
        }
        expect(split(...chunks)).toEqual(split(whole))
      }),
      { numRuns: 500 }
    )
  })

  it("loses no character but white space at the ends, and returns no empty sentence", () => {
    fc.assert(
      fc.property(text, (whole) => {
        const pieces = piecesWith(new SentenceSplitter(), chunksOf(whole, 4))
        expect(pieces.map((piece) => piece.space + piece.text).join("")).toBe(whole.trim())
        for (const { text: sentence } of pieces) {
          expect(sentence.trim()).toBe(sentence)
          expect(sentence).not.toBe("")
          expect(sentence.isWellFormed()).toBe(true)
        }
      }),
      { numRuns: 500 }
    )
  })
})
