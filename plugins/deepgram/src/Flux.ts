import type { SpokenWord } from "@svc/providers/SpeechToText"
import { Schema } from "effect"
import { fitting } from "./Keyterms.ts"
import { baseOf, fluxKnows } from "./Languages.ts"
import type { ListenContext, ListenProtocol } from "./ListenSession.ts"

const Word = Schema.Struct({
  word: Schema.String,
  confidence: Schema.Number,
  start: Schema.optional(Schema.Number),
  end: Schema.optional(Schema.Number)
})
const TurnInfo = Schema.Struct({
  event: Schema.String,
  transcript: Schema.String,
  words: Schema.Array(Word),
  languages: Schema.optional(Schema.Array(Schema.String))
})
type TurnInfo = typeof TurnInfo.Type
const decodeTurnInfo = Schema.decodeUnknownSync(TurnInfo)
const decodeError = Schema.decodeUnknownSync(Schema.Struct({ code: Schema.String, description: Schema.String }))

/** Confidence that the caller has finished from which an answer is prepared (docs/flux/configuration: 0.3 to 0.9). */
const eagerThreshold = "0.5"
/** The limits of `eot_timeout_ms`. */
const timeoutOf = (endpointingMs: number) => Math.min(60_000, Math.max(500, Math.round(endpointingMs)))
/** Words this old are lost with a connection: the engine has the last 10 s of audio for the next one. In milliseconds. */
const keptMs = 9000

export const isFlux = (model: string): boolean => model.startsWith("flux")

/** Speech-to-text by `/v2/listen`, for models that take turns themselves. The words of a turn become final with its end. */
export const protocol =
  (model: string, isMultilingual: boolean) =>
  ({ emit, fail, heardMs, options, pushedMs, server }: ListenContext): ListenProtocol => {
    const { log } = server.host
    const hasHints = !model.endsWith("-en") && !isMultilingual
    const query = new URLSearchParams({ model, eager_eot_threshold: eagerThreshold })
    if (options.endpointingMs !== undefined) query.set("eot_timeout_ms", String(timeoutOf(options.endpointingMs)))
    if (hasHints) query.set("language_hint", baseOf(options.language))
    if (options.format !== "raw") query.set("numerals", "true")
    for (const keyterm of fitting(options.keyterms, log, options.callId)) query.append("keyterm", keyterm)

    let turn: TurnInfo | undefined
    let partial = ""
    let eager: string | undefined

    const wordOf = ({ end, start, word }: TurnInfo["words"][number]): ReadonlyArray<SpokenWord> =>
      start === undefined || end === undefined ? [] : [{ text: word, start: heardMs(start), end: heardMs(end) }]
    const emitFinal = (text: string, { languages, words }: TurnInfo): void => {
      const [language] = languages ?? []
      const confidence = words.reduce((sum, word) => sum + word.confidence, 0) / Math.max(1, words.length)
      const times = words.flatMap(wordOf)
      emit({
        _tag: "Final",
        text,
        confidence: words.length === 0 ? 1 : Math.min(1, Math.max(0, confidence)),
        ...(language === undefined ? {} : { language }),
        ...(times.length === 0 || times.length < words.length ? {} : { words: times })
      })
    }
    const setPartial = (text: string): void => {
      if (text === partial) return
      partial = text
      emit({ _tag: "Partial", text })
    }
    const withdraw = (): void => {
      if (eager === undefined) return
      eager = undefined
      emit({ _tag: "TurnResumed" })
    }

    const onTurnInfo = (message: unknown): void => {
      const info = decodeTurnInfo(message)
      const text = info.transcript.trim()
      turn = info
      if (info.event === "EndOfTurn") {
        turn = undefined
        if (text !== eager) withdraw()
        eager = undefined
        if (text === "") setPartial("")
        else {
          partial = ""
          emitFinal(text, info)
          emit({ _tag: "EndOfTurn" })
        }
        return
      }
      if (info.event === "StartOfTurn") emit({ _tag: "SpeechStarted" })
      if (info.event === "TurnResumed") withdraw()
      setPartial(text)
      if (info.event === "EagerEndOfTurn" && text !== "") {
        eager = text
        emit({ _tag: "EagerEndOfTurn", text })
      }
    }

    return {
      path: "/v2/listen",
      query,
      // What Deepgram recommends for these models (docs/flux/quickstart).
      chunkMs: 80,
      keepAlive: undefined,
      flush: JSON.stringify({ type: "ForceEndTurn" }),
      read: (message) => {
        switch (message.type) {
          case "TurnInfo":
            onTurnInfo(message)
            return
          case "Error": {
            const { code, description } = decodeError(message)
            fail(`${server.origin} failed: ${code}: ${description}`)
            return
          }
          case "ConfigureFailure":
            log.warning("Deepgram refused a change of the session, which goes on as before", {
              call_id: options.callId
            })
            return
        }
      },
      update: ({ endpointingMs, keyterms, language }) =>
        language !== undefined && !fluxKnows(model, language)
          ? undefined
          : {
              ...(endpointingMs === undefined ? {} : { thresholds: { eot_timeout_ms: timeoutOf(endpointingMs) } }),
              ...(keyterms === undefined ? {} : { keyterms: fitting(keyterms, log, options.callId) }),
              ...(language === undefined || !hasHints ? {} : { language_hints: [baseOf(language)] })
            },
      emitRest: (how) => {
        if (turn === undefined) return
        withdraw()
        const before = how === "finished" ? Number.POSITIVE_INFINITY : pushedMs() - keptMs
        const words = turn.words.filter(({ end }) => how === "finished" || (end !== undefined && heardMs(end) < before))
        const text = how === "finished" ? turn.transcript.trim() : words.map(({ word }) => word).join(" ")
        if (text !== "") emitFinal(text, { ...turn, words })
        turn = undefined
        partial = ""
      }
    }
  }
