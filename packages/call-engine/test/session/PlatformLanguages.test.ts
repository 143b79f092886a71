import { languages } from "@svc/api/agents/Language"
import { languageCode, platformLanguages } from "@svc/providers/PlatformLanguages"
import { expect, it } from "vitest"

it("plugins have the languages that an agent may have, and codes without a region", () => {
  expect(platformLanguages).toEqual(languages)
  expect(platformLanguages.map(languageCode)).toEqual([
    "en",
    "en",
    "es",
    "nl",
    "de",
    "fr",
    "it",
    "pt",
    "pl",
    "sv",
    "da",
    "no",
    "fi"
  ])
  expect(["NN-no", "en"].map(languageCode)).toEqual(["no", "en"])
})
