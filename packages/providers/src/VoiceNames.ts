/** The part of a vendor's name before its description: `Sarah` of `Sarah - Mature, Reassuring, Confident`. */
const shortName = (name: string): string => name.split(" - ")[0]?.trim() ?? ""

/**
 * The names of a vendor's voices, in their order, of which no two are the same when case is ignored: the short one, else
 * the whole one, else one with the voice's id. `kept` are names that only the voice with that id may have.
 */
export const voiceNames = (
  voices: ReadonlyArray<{ readonly id: string; readonly name: string }>,
  kept: Readonly<Record<string, string>> = {}
): ReadonlyArray<string> => {
  const taken = new Set(Object.keys(kept).map((name) => name.toLowerCase()))
  return voices.map(({ id, name }) => {
    const own = Object.entries(kept).find((entry) => entry[1] === id)?.[0]
    if (own !== undefined) return own
    const whole = name.trim()
    const free = [shortName(whole), whole, `${whole} ${id}`.trim(), id].find(
      (candidate) => candidate !== "" && !taken.has(candidate.toLowerCase())
    )
    taken.add((free ?? id).toLowerCase())
    return free ?? id
  })
}
