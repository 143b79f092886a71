import { SpeechToText, SpeechToTextError } from "@svc/providers/SpeechToText"
import type { Context } from "effect"
import type { DeepgramServer } from "./DeepgramServer.ts"
import * as Flux from "./Flux.ts"
import { fluxKnows, languages } from "./Languages.ts"
import * as ListenSession from "./ListenSession.ts"
import * as Nova from "./Nova.ts"

/** For languages that a turn-taking model does not know. */
const nova = "nova-3"
const sampleRates: ReadonlyArray<number> = [8000, 16_000]

/** Speech-to-text over one WebSocket for each session. */
export const make = (options: {
  readonly server: DeepgramServer
  readonly model: string
  /** The caller may speak any language, and change it; that of the agent is only expected. */
  readonly isMultilingual: boolean
}): Context.Tag.Service<SpeechToText> => {
  const { isMultilingual, model, server } = options
  return SpeechToText.of({
    id: "deepgram",
    capabilities: { languages, endpointing: "provider", sampleRates, keyterms: true },
    health: server.health,
    open: (asked) => {
      if (!sampleRates.includes(asked.sampleRate)) {
        return new SpeechToTextError({ reason: `${asked.sampleRate} Hz is not supported`, retryable: false })
      }
      const isFlux = Flux.isFlux(model)
      return isFlux && fluxKnows(model, asked.language)
        ? ListenSession.open(server, asked, Flux.protocol(model, isMultilingual))
        : ListenSession.open(server, asked, Nova.protocol(isFlux ? nova : model, isMultilingual))
    }
  })
}
