import { type Draft, patch } from "../Draft.ts"
import { languageOf } from "../State.ts"
import * as Listening from "./Listening.ts"

/**
 * The language of the call changes: from now on speech-to-text hears it, the voice for it speaks, and fixed phrases are in
 * it.
 */
const change = (d: Draft, language: string, voice: string): void => {
  const { config } = d.state
  if (config === null || languageOf(d.state) === language) return
  patch(d, { config: { ...config, language, voice } })
  if (d.state.listening) Listening.listen(d)
}

/** `switch_language`. Returns the result of the tool. */
export const choose = (d: Draft, args: { readonly [name: string]: unknown }): { readonly [name: string]: string } => {
  const choices = d.state.config?.languages ?? []
  const chosen = choices.find(({ language }) => language === args["language"])
  if (chosen === undefined)
    return { error: `language must be one of ${choices.map(({ language }) => language).join(", ")}.` }
  change(d, chosen.language, chosen.voice)
  return { language: chosen.language }
}
