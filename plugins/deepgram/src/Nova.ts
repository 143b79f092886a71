import type { SpokenWord } from "@svc/providers/SpeechToText"
import { Schema } from "effect"
import { fitting } from "./Keyterms.ts"
import { baseOf, novaCode } from "./Languages.ts"
import type { ListenContext, ListenProtocol } from "./ListenSession.ts"

const Word = Schema.Struct({
  word: Schema.String,
  start: Schema.Number,
  end: Schema.Number,
  punctuated_word: Schema.optional(Schema.String)
})
const Results = Schema.Struct({
  is_final: Schema.optional(Schema.Boolean),
  speech_final: Schema.optional(Schema.Boolean),
  channel: Schema.Struct({
    alternatives: Schema.Array(
      Schema.Struct({
        transcript: Schema.String,
        confidence: Schema.Number,
        languages: Schema.optional(Schema.Array(Schema.String)),
        words: Schema.optional(Schema.Array(Word))
      })
    )
  })
})
const decodeResults = Schema.decodeUnknownSync(Results)

/** Silence that ends a turn, where nobody says otherwise. */
const defaultEndpointingMs = 500
/** Deepgram's shortest gap between words that ends an utterance (docs/utterance-end). */
const shortestGapMs = 1000
/** Regional servers do not change keyterms of open sessions (docs/configure). */
const isRegional = (origin: string) => /^https:\/\/api\.[a-z]+\.deepgram\.com$/.test(origin)

/**
 * Speech-to-text by `/v1/listen`, for models without turn-taking of their own. A turn ends with a pause (`endpointing`), or
 * with a gap between words where noise hides the pause (`utterance_end_ms`).
 */
export const protocol =
  (model: string, isMultilingual: boolean) =>
  ({ emit, heardMs, options, server }: ListenContext): ListenProtocol => {
    const { log } = server.host
    const isNova3 = model.startsWith("nova-3")
    const endpointingMs = Math.max(10, Math.round(options.endpointingMs ?? defaultEndpointingMs))
    const query = new URLSearchParams({
      model,
      channels: "1",
      interim_results: "true",
      vad_events: "true",
      endpointing: String(endpointingMs),
      utterance_end_ms: String(Math.max(shortestGapMs, endpointingMs))
    })
    if (isMultilingual) {
      query.set("language", "multi")
      if (isNova3) query.set("language_hint", baseOf(novaCode(options.language)))
    } else query.set("language", novaCode(options.language))
    if (options.format === "smart") query.set("smart_format", "true")
    if (options.format === "numerals") {
      query.set("numerals", "true")
      query.set("punctuate", "true")
    }
    for (const keyterm of fitting(options.keyterms, log, options.callId)) {
      query.append(isNova3 ? "keyterm" : "keywords", keyterm)
    }

    let partial = ""
    let partialConfidence = 0
    /** There are final words since the last end of a turn. */
    let hasWords = false
    const setPartial = (text: string): void => {
      if (text === partial) return
      partial = text
      emit({ _tag: "Partial", text })
    }
    const endTurn = (): void => {
      if (!hasWords) return
      hasWords = false
      emit({ _tag: "EndOfTurn" })
    }
    const wordOf = ({ end, punctuated_word, start, word }: typeof Word.Type): SpokenWord => ({
      text: punctuated_word ?? word,
      start: heardMs(start),
      end: heardMs(end)
    })

    const onResults = (message: unknown): void => {
      const { channel, is_final, speech_final } = decodeResults(message)
      const [best] = channel.alternatives
      const text = best?.transcript.trim() ?? ""
      const confidence = Math.min(1, Math.max(0, best?.confidence ?? 0))
      if (is_final !== true) {
        partialConfidence = confidence
        setPartial(text)
        return
      }
      if (best === undefined || text === "") setPartial("")
      else {
        partial = ""
        hasWords = true
        const [language] = best.languages ?? []
        emit({
          _tag: "Final",
          text,
          confidence,
          ...(language === undefined ? {} : { language }),
          ...(best.words === undefined || best.words.length === 0 ? {} : { words: best.words.map(wordOf) })
        })
      }
      if (speech_final === true) endTurn()
    }

    return {
      path: "/v1/listen",
      query,
      chunkMs: 20,
      keepAlive: JSON.stringify({ type: "KeepAlive" }),
      flush: JSON.stringify({ type: "Finalize" }),
      read: (message) => {
        switch (message.type) {
          case "Results":
            onResults(message)
            return
          case "SpeechStarted":
            emit({ _tag: "SpeechStarted" })
            return
          case "UtteranceEnd":
            // Words that are not final belong to the next turn.
            if (partial === "") endTurn()
            return
          case "Error":
          case "ConfigureFailure":
            // The session goes on as before (docs/configure).
            log.warning(`Deepgram refused a change: ${server.failures.shown(JSON.stringify(message))}`, {
              call_id: options.callId
            })
            return
        }
      },
      update: ({ endpointingMs: changed, keyterms, language }) => {
        const isOther = language !== undefined && novaCode(language) !== novaCode(options.language)
        if (isOther && !isMultilingual) return undefined
        if (changed !== undefined && Math.max(10, Math.round(changed)) !== endpointingMs) return undefined
        if (keyterms === undefined) return {}
        return isNova3 && !isRegional(server.origin) ? { keyterms: fitting(keyterms, log, options.callId) } : undefined
      },
      emitRest: (how) => {
        if (how === "finished" && partial !== "") emit({ _tag: "Final", text: partial, confidence: partialConfidence })
        partial = ""
      }
    }
  }
