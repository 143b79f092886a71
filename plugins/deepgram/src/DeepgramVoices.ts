import type { Voice } from "@svc/providers/TextToSpeech"
import { Duration, Effect, Option, Schema, type Scope } from "effect"
import type { DeepgramServer } from "./DeepgramServer.ts"
import { baseOf, languages } from "./Languages.ts"

/** The voices of the server. */
export interface DeepgramVoices {
  readonly list: () => ReadonlyArray<Voice>
  /** The model that speaks a language in a voice, by its name or by that of the model; in any case of letters. */
  readonly modelFor: (voice: string, language: string) => string | undefined
}

interface Known {
  readonly model: string
  readonly name: string
  /** Without a region, as `en`. */
  readonly language: string
  readonly gender: Voice["gender"]
}

const known = (language: string, female: ReadonlyArray<string>, male: ReadonlyArray<string>): ReadonlyArray<Known> => {
  const one = (gender: Voice["gender"]) => (name: string) => ({
    model: `aura-2-${name.toLowerCase()}-${language}`,
    name,
    language,
    gender
  })
  return [...female.map(one("female")), ...male.map(one("male"))]
}

/** Voices to begin with, the first of each language for agents that choose none; then the server's own list. */
const featured: ReadonlyArray<Known> = [
  ...known("en", ["Thalia", "Andromeda", "Helena"], ["Apollo", "Arcas", "Aries"]),
  ...known("es", ["Celeste", "Estrella"], ["Nestor", "Javier"]),
  ...known("de", ["Viktoria", "Elara"], ["Julius", "Fabian"]),
  ...known("fr", ["Agathe"], ["Hector"]),
  ...known("nl", ["Rhea", "Beatrix"], ["Sander", "Lars"]),
  ...known("it", ["Livia", "Cinzia"], ["Dionisio", "Elio"])
]
/** The platform's voice of agents that choose none. */
const sarah = "sarah"

/** `GET /v1/models` (developers.deepgram.com/reference/manage/models/list). */
const Models = Schema.Struct({
  tts: Schema.optional(
    Schema.Array(
      Schema.Struct({
        name: Schema.optional(Schema.String),
        canonical_name: Schema.optional(Schema.String),
        metadata: Schema.optional(Schema.NullOr(Schema.Struct({ tags: Schema.optional(Schema.Array(Schema.String)) })))
      })
    )
  )
})
const decodeModels = Schema.decodeUnknownOption(Models)

const refreshEvery = Duration.minutes(5)
const deadline = Duration.seconds(10)

/** The voices in an answer of the server, of the newest family: older ones have the same names. */
const voicesIn = (answer: typeof Models.Type): ReadonlyArray<Known> =>
  (answer.tts ?? []).flatMap(({ canonical_name: model = "", metadata }) => {
    const [, name = "", language = ""] = /^aura-2-([a-z0-9]+)-([a-z]{2})$/.exec(model) ?? []
    if (name === "") return []
    const tags = metadata?.tags ?? []
    const gender = tags.includes("feminine") ? "female" : tags.includes("masculine") ? "male" : "neutral"
    return [{ model, name: `${name.charAt(0).toUpperCase()}${name.slice(1)}`, language, gender }]
  })

const tagsOf = (language: string): ReadonlyArray<string> => languages.filter((tag) => baseOf(tag) === language)

/** Begins with known voices and reads the server's list, at once and every five minutes. */
export const make = (server: DeepgramServer): Effect.Effect<DeepgramVoices, never, Scope.Scope> =>
  Effect.gen(function* () {
    let all = featured
    let list: ReadonlyArray<Voice> = []
    const use = (voices: ReadonlyArray<Known>): void => {
      all = voices
      const spoken = new Set(voices.map(({ language }) => language))
      list = [
        { name: "Sarah", languages: languages.filter((tag) => spoken.has(baseOf(tag))), gender: "female" },
        ...voices.flatMap(({ gender, language, name }) => {
          const tags = tagsOf(language)
          return tags.length === 0 ? [] : [{ name, languages: tags, gender }]
        })
      ]
    }
    use(featured)
    const read = server.get("/v1/models").pipe(
      Effect.timeout(deadline),
      Effect.tap((answer) =>
        Effect.sync(() => {
          const voices = Option.match(decodeModels(answer), { onNone: () => [], onSome: voicesIn })
          if (voices.length === 0) return
          // The featured ones stay first.
          const models = new Set(voices.map(({ model }) => model))
          const first = featured.filter(({ model }) => models.has(model))
          use([...first, ...voices.filter(({ model }) => !first.some((one) => one.model === model))])
        })
      ),
      // Its health says that the server does not answer.
      Effect.ignore
    )
    yield* Effect.forkScoped(Effect.forever(Effect.zipRight(read, Effect.sleep(refreshEvery))))
    return {
      list: () => list,
      modelFor: (voice, language) => {
        const asked = voice.toLowerCase()
        const speaks = ({ language: spoken }: Known) => spoken === baseOf(language)
        const isAsked = ({ gender, model, name }: Known) =>
          asked === sarah ? gender !== "male" : name.toLowerCase() === asked || model === asked
        // A voice may be in use that the server has not listed lately; the server decides.
        return [...all, ...featured].find((one) => speaks(one) && isAsked(one))?.model
      }
    }
  })
