/** The most mistakes that a word may have and still be taken for a name. */
const maxMistakes = 3
/** A mistake is allowed for each of so many characters, and one in any word of at least three. */
const charactersPerMistake = 4
/** Longer words are not compared: they come from outside. */
const maxLength = 64

/** The same word in `camelCase`, `kebab-case` and `snake_case` has one form. */
const folded = (word: string): string => word.toLowerCase().replace(/[-_ ]/g, "")

/** How many characters have to be added, removed, replaced or swapped with their neighbour to get from a word to another. */
const mistakes = (from: string, to: string): number => {
  let beforePrevious: ReadonlyArray<number> = []
  let previous: ReadonlyArray<number> = Array.from({ length: to.length + 1 }, (_, n) => n)
  for (let i = 1; i <= from.length; i++) {
    const current = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      let least = Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1)
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) {
        least = Math.min(least, (beforePrevious[j - 2] ?? 0) + 1)
      }
      current.push(least)
    }
    beforePrevious = previous
    previous = current
  }
  return previous[to.length] ?? 0
}

/** The name that was probably meant by a word that is none of them; undefined when no name is near. */
export const suggestion = (word: string, names: ReadonlyArray<string>): string | undefined => {
  if (word.length > maxLength) return undefined
  const given = folded(word)
  const allowed =
    given.length < 3 ? 0 : Math.min(maxMistakes, Math.max(1, Math.floor(given.length / charactersPerMistake)))
  let best: { readonly name: string; readonly count: number } | undefined
  for (const name of names) {
    const count = mistakes(given, folded(name))
    if (count <= allowed && (best === undefined || count < best.count)) best = { name, count }
  }
  return best?.name
}

/** `; did you mean first_message?`, or what is known when no name is near. */
export const didYouMean = (word: string, names: ReadonlyArray<string>): string => {
  const near = suggestion(word, names)
  return near === undefined ? `; known are ${names.join(", ")}` : `; did you mean ${near}?`
}
