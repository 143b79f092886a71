import type { Health } from "@svc/providers/Health"
import type { Host } from "@svc/providers/Host"
import { getJson } from "@svc/providers/JsonRequest"
import { RequestFailed } from "@svc/providers/RequestFailed"
import * as ServerHealth from "@svc/providers/ServerHealth"
import type { Voice } from "@svc/providers/TextToSpeech"
import type { VendorServer } from "@svc/providers/VendorServer"
import { voiceNames } from "@svc/providers/VoiceNames"
import { Effect, Redacted, Schema, type Scope } from "effect"
import { languagesOf } from "./ModelLanguages.ts"

/** The header that carries the key (https://elevenlabs.io/docs/api-reference/authentication). */
export const authentication = ({ apiKey }: VendorServer): Readonly<Record<string, string>> => ({
  "xi-api-key": Redacted.value(apiKey)
})

const nullish = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

/** What a voice's owner has set (`VoiceSettings` of the vendor). The server uses them when a context sends none. */
const VoiceSettings = Schema.Struct({
  stability: nullish(Schema.Number),
  similarity_boost: nullish(Schema.Number),
  style: nullish(Schema.Number),
  use_speaker_boost: nullish(Schema.Boolean),
  speed: nullish(Schema.Number)
})
export type VoiceSettings = typeof VoiceSettings.Type

const ListedVoice = Schema.Struct({
  voice_id: Schema.NonEmptyString,
  name: nullish(Schema.String),
  labels: nullish(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  settings: nullish(VoiceSettings)
})

/** The answer of `GET /v2/voices`. */
const Page = Schema.Struct({
  voices: Schema.Array(ListedVoice),
  has_more: nullish(Schema.Boolean),
  next_page_token: nullish(Schema.String)
})
const decodePage = Schema.decodeUnknownOption(Page)

/** A voice of the account. */
export interface AccountVoice {
  readonly id: string
  readonly name: string
  readonly gender: Voice["gender"]
  readonly settings: VoiceSettings | undefined
}

export interface Voices {
  /** As the contract has them; other ones after a refresh. */
  readonly list: () => ReadonlyArray<Voice>
  /** The voice of this name, ignoring case, or with this id. */
  readonly find: (nameOrId: string) => AccountVoice | undefined
  readonly health: Effect.Effect<Health>
}

/** The vendor's default voice of this name, which every account has: the voice of agents that choose none. */
const sarah: AccountVoice = { id: "EXAVITQu4vr4xnSDxMaL", name: "Sarah", gender: "female", settings: undefined }

/** Most voices that one page may have, and most pages that are read. */
const pageSize = 100
const mostPages = 20

const genderOf = (label: unknown): Voice["gender"] => (label === "female" || label === "male" ? label : "neutral")

const named = (listed: ReadonlyArray<typeof ListedVoice.Type>): ReadonlyArray<AccountVoice> => {
  const names = voiceNames(
    listed.map(({ name, voice_id }) => ({ id: voice_id, name: name ?? "" })),
    { [sarah.name]: sarah.id }
  )
  return listed.map(({ labels, settings, voice_id }, n) => ({
    id: voice_id,
    name: names[n] ?? voice_id,
    gender: genderOf(labels?.["gender"]),
    settings: settings ?? undefined
  }))
}

/**
 * Reads the voices of the account with their settings, at the start and again every five minutes, which also shows
 * whether the key is valid.
 */
export const make = (server: VendorServer, model: string, host: Host): Effect.Effect<Voices, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { failures, origin } = server
    const languages = languagesOf(model)
    let voices: ReadonlyArray<AccountVoice> = [sarah]
    let list: ReadonlyArray<Voice> = []
    const use = (read: ReadonlyArray<AccountVoice>): void => {
      voices = read.some(({ id }) => id === sarah.id) ? read : [sarah, ...read]
      list = voices.map(({ gender, name }) => ({ name, languages, gender }))
    }
    use([])

    const page = (token: string | undefined) =>
      Effect.gen(function* () {
        const url = new URL("/v2/voices", origin)
        url.searchParams.set("page_size", String(pageSize))
        if (token !== undefined) url.searchParams.set("next_page_token", token)
        const body = yield* getJson({ url, headers: authentication(server), failures })
        const decoded = decodePage(body)
        if (decoded._tag === "Some") return decoded.value
        return yield* new RequestFailed({ reason: `${origin} answered with no list of voices`, retryable: true })
      })
    const read = Effect.gen(function* () {
      const listed: Array<typeof ListedVoice.Type> = []
      let token: string | undefined
      for (let pages = 0; pages < mostPages; pages++) {
        const { has_more, next_page_token, voices } = yield* page(token)
        listed.push(...voices)
        token = next_page_token ?? undefined
        if (has_more !== true || token === undefined) break
      }
      use(named(listed))
    })
    const { health } = yield* ServerHealth.make({
      request: read,
      failures,
      host,
      noAnswer: `${origin} does not answer`
    })
    return {
      list: () => list,
      find: (nameOrId) => {
        const folded = nameOrId.toLowerCase()
        return voices.find(({ name }) => name.toLowerCase() === folded) ?? voices.find(({ id }) => id === nameOrId)
      },
      health
    }
  })
