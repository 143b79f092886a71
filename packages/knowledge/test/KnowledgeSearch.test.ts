import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { KnowledgeSearch } from "../src/KnowledgeSearch.ts"
import { create, owner, Test } from "./Fixture.ts"

const qa = (...pairs: ReadonlyArray<readonly [string, string]>) => ({
  entries: pairs.map(([question, answer]) => ({ question, answer }))
})

layer(Test)("a search", (it) => {
  const search = (base_ids: ReadonlyArray<number>, text: string) =>
    Effect.gen(function* () {
      const { passages } = yield* (yield* KnowledgeSearch).search({ base_ids }, text, 3)
      return passages.map(({ heading }) => heading)
    })

  const shop = qa(
    ["When are you open?", "From nine to five, and on Sundays from ten to four."],
    ["How do I return a purchase?", "Send it back within thirty days, with the receipt."],
    ["Do you repair bicycles?", "Yes, our workshop mends flat tyres while you wait."],
    ["Who is the owner?", "The shop belongs to Mrs Kowalczyk."]
  )

  it.effect("finds a passage although not all words of a question are in it", () =>
    Effect.gen(function* () {
      const { id } = yield* create(yield* owner, shop)
      expect((yield* search([id], "hi there, could you tell me what time you open on a Sunday morning?"))[0]).toBe(
        "When are you open?"
      )
      expect((yield* search([id], "I would like to return the bike that I bought"))[0]).toBe(
        "How do I return a purchase?"
      )
    })
  )

  it.effect("finds misspelled words and names", () =>
    Effect.gen(function* () {
      const { id } = yield* create(yield* owner, shop)
      expect((yield* search([id], "bycicle reparation"))[0]).toBe("Do you repair bicycles?")
      expect((yield* search([id], "is missis Kovalczik there"))[0]).toBe("Who is the owner?")
    })
  )

  it.effect("finds parts of German compounds, and words without their diacritics", () =>
    Effect.gen(function* () {
      const { id } = yield* create(
        yield* owner,
        qa(
          ["Wie lang ist die Kündigungsfrist?", "Sie können den Vertrag jederzeit zum Monatsende beenden."],
          ["Welche Öffnungszeiten gibt es?", "Montag bis Freitag von 9 bis 17 Uhr, an Feiertagen ist zu."],
          ["Wohin geht die Rechnung?", "An die Adresse, die in Ihrem Konto steht."]
        )
      )
      expect((yield* search([id], "Welche Frist gilt für eine Kündigung?"))[0]).toBe(
        "Wie lang ist die Kündigungsfrist?"
      )
      expect((yield* search([id], "Offnungszeiten"))[0]).toBe("Welche Öffnungszeiten gibt es?")
      expect((yield* search([id], "Kann ich die Rechnungsadresse ändern?"))[0]).toBe("Wohin geht die Rechnung?")
    })
  )

  it.effect("finds Polish words in another form, which the database cannot stem", () =>
    Effect.gen(function* () {
      const { id } = yield* create(
        yield* owner,
        qa(
          ["Godziny otwarcia", "Jesteśmy czynni od dziewiątej do siedemnastej."],
          ["Parkowanie", "Parking jest bezpłatny dla klientów."]
        )
      )
      expect((yield* search([id], "o której godzinie otwieracie"))[0]).toBe("Godziny otwarcia")
      expect((yield* search([id], "czy jest jakiś parking"))[0]).toBe("Parkowanie")
    })
  )

  it.effect("searches only the bases of its scope, which may have several languages", () =>
    Effect.gen(function* () {
      const by = yield* owner
      const { id: english } = yield* create(by, shop)
      const { id: dutch } = yield* create(
        by,
        qa(
          ["Wanneer is de winkel geopend?", "Wij zijn elke dag van negen tot vijf open."],
          ["Hoe kan ik betalen?", "Met een kaart of met contant geld, aan de kassa."]
        )
      )
      expect((yield* search([english, dutch], "kan ik met een kaart betalen"))[0]).toBe("Hoe kan ik betalen?")
      expect((yield* search([english, dutch], "who owns it? the owner"))[0]).toBe("Who is the owner?")
      expect(yield* search([english], "contant betalen aan de kassa")).not.toContain("Hoe kan ik betalen?")
    })
  )

  it.effect("finds nothing for words that no passage has, for stop words, and without bases", () =>
    Effect.gen(function* () {
      const { id } = yield* create(yield* owner, shop)
      expect(yield* search([id], "quantum chromodynamics")).toEqual([])
      expect(yield* search([id], "what is it that you have been")).toEqual([])
      expect(yield* search([id], "\0 \ud800 ' & | ! :* <-> \\")).toEqual([])
      expect(yield* search([], "open")).toEqual([])
    })
  )
})
