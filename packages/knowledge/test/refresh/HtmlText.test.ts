import { describe, expect, it } from "@effect/vitest"
import { htmlText } from "../../src/refresh/HtmlText.ts"
import { html } from "./Site.ts"

describe("htmlText", () => {
  it("gives the title and what the page says, without what is around it", () => {
    const page = html(
      `<nav>Menu</nav><script>var x = 1</script><style>p {}</style><h1>Hours</h1><p>We are <b>open</b> <a href="/x">daily</a>.</p>
       <ul><li>Monday<li>Tuesday</ul><img src="a.png" alt="us"><form><input value="x"></form><footer>Imprint</footer>`,
      " Our \n shop "
    )
    expect(htmlText(page)).toEqual({
      title: "Our shop",
      text: "# Hours\n\nWe are open daily.\n\n-   Monday\n-   Tuesday"
    })
  })

  it("prefers the main element", () => {
    expect(htmlText(html("<div>Cookie banner</div><main><p>The text.</p></main>")).text).toBe("The text.")
  })

  it("keeps the rows of tables on lines, with their cells apart", () => {
    const table = "<table><tr><th>Day</th><th>Hours</th></tr><tr><td>Monday</td><td>9 to\n 17</td></tr></table>"
    expect(htmlText(html(table)).text).toBe("| Day | Hours |\n| Monday | 9 to 17 |")
  })

  it("takes the article of a long page with much around it", () => {
    const sentence = "This is a sentence of an article about opening hours, prices, and other things, which goes on. "
    const article = `<article><h2>News</h2>${`<p>${sentence.repeat(6)}</p>`.repeat(6)}</article>`
    const { text } = htmlText(
      html(`<div class="sidebar"><ul>${"<li><a href='/'>Link</a></li>".repeat(20)}</ul></div>${article}`)
    )
    expect(text).toContain("This is a sentence of an article")
    expect(text).not.toContain("Link")
  })

  it("refuses pages that are nested more than 500 levels deep", () => {
    const nested = (depth: number) => html(`<p>Before</p>${"<div>".repeat(depth)}<p>Inside</p>`)
    expect(htmlText(nested(400)).text).toBe("Before\n\nInside")
    expect(() => htmlText(nested(501))).toThrow(RangeError)
  })

  it("reads fragments without an html element", () => {
    expect(htmlText("<p>Hello <i>you</i></p>")).toEqual({ title: null, text: "Hello you" })
    expect(htmlText("Hello <i>you</i>").text).toBe("Hello you")
    for (const unseen of ["<script>'<html >'</script>", "<!-- <html > -->", "<style>/* <html */</style>"])
      expect(htmlText(`${unseen}<p>Hello</p>`).text).toBe("Hello")
  })
})
