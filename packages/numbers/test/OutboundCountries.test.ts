import { describe, expect, it } from "@effect/vitest"
import { countriesOf, countriesText, type OutboundCountries, outboundRefusal } from "../src/OutboundCountries.ts"

const only = (text: string): OutboundCountries => countriesOf(text) ?? "all"

describe("countriesOf", () => {
  it.each([
    ["all", "all"],
    [" ALL ", "all"],
    ["none", "none"],
    ["nl, be,GB", "BE,GB,NL"],
    ["NL,NL", "NL"]
  ])("reads %j as %s", (text, countries) => {
    const read = countriesOf(text)
    expect(read === undefined ? undefined : countriesText(read)).toBe(countries)
  })
  it.each(["", ",", "NL,", "XX", "NLD", "+31", "all,NL", "NL;BE", "none,NL"])("refuses %j", (text) => {
    expect(countriesOf(text)).toBeUndefined()
  })
})

describe("outboundRefusal", () => {
  it.each([
    "+31612345678",
    "+14155552671",
    "+80012345678",
    // Of test networks: no plan contains them.
    "+15550001111",
    "+15550100",
    "+447700900123",
    "+999123456",
    "+4930123456"
  ])("lets %s be called when all countries may be", (number) => {
    expect(outboundRefusal(number, "all")).toBeNull()
  })

  it.each([
    ["+19005550123", "premium-rate"],
    ["+31900123456", "premium-rate"],
    ["+4490912345678", "premium-rate"],
    ["+979123456789", "premium-rate"],
    // Networks ignore the digits after a complete number.
    ["+1900555012399", "premium-rate"],
    ["+870773123456", "satellite"],
    ["+881612345678", "satellite"],
    ["+88216212345", "satellite"],
    ["+883510001234", "satellite"]
  ])("refuses %s as %s, whatever countries may be called", (number, kind) => {
    expect(outboundRefusal(number, "all")).toContain(kind)
    expect(outboundRefusal(number, only("US,NL,GB"))).toContain(kind)
  })

  it("refuses numbers of other countries, also of those that share a calling code, and names both", () => {
    const allowed = only("US,NL")
    for (const number of ["+14155552671", "+31612345678", "+15550001111"]) {
      expect(outboundRefusal(number, allowed)).toBeNull()
    }
    expect(outboundRefusal("+18765550123", allowed)).toBe(
      "must be a number of a country that may be called (NL, US); it is of JM"
    )
    expect(outboundRefusal("+187655501239", allowed)).toContain("it is of JM")
    expect(outboundRefusal("+4915112345678", allowed)).toContain("it is of DE")
    expect(outboundRefusal("+80012345678", allowed)).toContain("it is of no country")
    expect(outboundRefusal("+999123456", allowed)).toContain("it is of no country")
  })

  it("refuses every number when no country may be called", () => {
    for (const number of ["+31612345678", "+15550001111", "+80012345678"]) {
      expect(outboundRefusal(number, only("none"))).toContain("may not call or text")
    }
  })

  it("names at most ten countries", () => {
    const many = only("AT,BE,BG,CY,CZ,DE,DK,EE,ES,FI,FR,GR")
    expect(outboundRefusal("+31612345678", many)).toContain("(AT, BE, BG, CY, CZ, DE, DK, EE, ES, FI and 2 more)")
  })
})
