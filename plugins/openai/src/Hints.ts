/** What helps a model to hear right: the language of the caller, and names that it would not expect. */

/** Characters of the prompt that carries the keyterms: models read a few hundred at most. */
const longestPrompt = 600

/** The language as Whisper names it: without a region, and one name for both kinds of Norwegian. */
export const whisperLanguage = (language: string): string => {
  const [name = "en"] = language.split("-")
  return name === "nb" || name === "nn" ? "no" : name
}

/** The keyterms as a prompt; empty without any. */
export const promptOf = (keyterms: ReadonlyArray<string>): string =>
  keyterms.join(", ").slice(0, longestPrompt).toWellFormed()
