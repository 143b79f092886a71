/** Characters of the prompt that carries the keyterms: models read a few hundred at most. */
const longestPrompt = 600

/** The keyterms as a prompt; empty without any. */
export const promptOf = (keyterms: ReadonlyArray<string>): string =>
  keyterms.join(", ").slice(0, longestPrompt).toWellFormed()
