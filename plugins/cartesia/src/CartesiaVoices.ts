import type { Health } from "@svc/providers/Health"
import type { Host } from "@svc/providers/Host"
import { getJson } from "@svc/providers/JsonRequest"
import { languageCode } from "@svc/providers/PlatformLanguages"
import { RequestFailed } from "@svc/providers/RequestFailed"
import * as ServerHealth from "@svc/providers/ServerHealth"
import type { Voice } from "@svc/providers/TextToSpeech"
import type { VendorServer } from "@svc/providers/VendorServer"
import { voiceNames } from "@svc/providers/VoiceNames"
import { Effect, Redacted, Schema, type Scope } from "effect"
import { languagesOf } from "./ModelLanguages.ts"

/** The date of the vendor's protocol (https://docs.cartesia.ai/use-the-api/api-conventions); errors are objects since it. */
const version = "2026-03-01"

export const headersOf = ({ apiKey }: VendorServer): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${Redacted.value(apiKey)}`,
  "cartesia-version": version
})

const nullish = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

const ListedVoice = Schema.Struct({
  id: Schema.NonEmptyString,
  name: nullish(Schema.String),
  language: nullish(Schema.String),
  /** ISO 3166-1 alpha-2. */
  country: nullish(Schema.String),
  gender: nullish(Schema.String)
})

/** The answer of `GET /voices`. */
const Page = Schema.Struct({ data: Schema.Array(ListedVoice), has_more: nullish(Schema.Boolean) })
const decodePage = Schema.decodeUnknownOption(Page)

export interface Voices {
  /** As the contract has them; other ones after a refresh. */
  readonly list: () => ReadonlyArray<Voice>
  /** The id of the voice of this name, ignoring case, or with this id. */
  readonly find: (nameOrId: string) => string | undefined
  readonly health: Effect.Effect<Health>
}

/** The voice that the vendor recommends for agents (Katie), under the name of agents that choose none. */
const sarahId = "f786b574-daa5-4673-aa0c-cbe3e8534c02"

/** The most voices that one page may have, and the most pages that are read. */
const pageSize = 100
const mostPages = 20

const genders: Readonly<Record<string, Voice["gender"]>> = { feminine: "female", masculine: "male" }

/** The languages of a voice among those of its model: its own, that of its country first. */
const spoken = (listed: typeof ListedVoice.Type, languages: ReadonlyArray<string>): ReadonlyArray<string> => {
  const own = languages.filter((language) => languageCode(language) === listed.language)
  const atHome = own.filter((language) => language.endsWith(`-${listed.country?.toUpperCase()}`))
  return [...atHome, ...own.filter((language) => !atHome.includes(language))]
}

/**
 * Reads the voices that the account may use, at the start and again every five minutes, which also shows whether the key
 * is valid.
 */
export const make = (server: VendorServer, model: string, host: Host): Effect.Effect<Voices, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { failures, origin } = server
    const languages = languagesOf(model)
    const sarah: Voice = { name: "Sarah", languages, gender: "female" }
    let list: ReadonlyArray<Voice> = [sarah]
    let ids: ReadonlyMap<string, string> = new Map([["sarah", sarahId]])

    const page = (after: string | undefined) =>
      Effect.gen(function* () {
        const url = new URL("/voices", origin)
        url.searchParams.set("limit", String(pageSize))
        if (after !== undefined) url.searchParams.set("starting_after", after)
        const decoded = decodePage(yield* getJson({ url, headers: headersOf(server), failures }))
        if (decoded._tag === "Some") return decoded.value
        return yield* new RequestFailed({ reason: `${origin} answered with no list of voices`, retryable: true })
      })
    const read = Effect.gen(function* () {
      const all: Array<typeof ListedVoice.Type> = []
      for (let pages = 0; pages < mostPages; pages++) {
        const { data, has_more } = yield* page(all.at(-1)?.id)
        all.push(...data)
        if (has_more !== true || data.length === 0) break
      }
      const usable = all.filter((listed) => spoken(listed, languages).length > 0)
      const names = voiceNames(
        [{ id: "", name: sarah.name }, ...usable.map(({ id, name }) => ({ id, name: name ?? "" }))],
        { [sarah.name]: "" }
      ).slice(1)
      list = [
        sarah,
        ...usable.map(
          (listed, n): Voice => ({
            name: names[n] ?? listed.id,
            languages: spoken(listed, languages),
            gender: genders[listed.gender ?? ""] ?? "neutral"
          })
        )
      ]
      ids = new Map([
        ...usable.map(({ id }): readonly [string, string] => [id, id]),
        ["sarah", sarahId],
        ...usable.map(({ id }, n): readonly [string, string] => [(names[n] ?? id).toLowerCase(), id])
      ])
    })
    const { health } = yield* ServerHealth.make({
      request: read,
      failures,
      host,
      noAnswer: `${origin} does not answer`
    })
    return {
      list: () => list,
      find: (nameOrId) => ids.get(nameOrId.toLowerCase()) ?? ids.get(nameOrId),
      health
    }
  })
