import { command, type Draft, patch, providerField } from "../Draft.ts"
import { languageOf } from "../State.ts"

/** Opens speech-to-text with the call's configuration, in place of an open session. */
export const listen = (d: Draft): void => {
  patch(d, { listening: true, session_endpointing: null })
  command(d, {
    _tag: "Listen",
    language: languageOf(d.state),
    format: d.state.config?.stt_format ?? "smart",
    keyterms: d.state.config?.stt_keyterms ?? [],
    ...providerField(d.state.provider_index.stt)
  })
}
