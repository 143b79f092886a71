import type { Language } from "@svc/api/agents/Language"
import { danish } from "./languages/Danish.ts"
import { dutch } from "./languages/Dutch.ts"
import { english } from "./languages/English.ts"
import { finnish } from "./languages/Finnish.ts"
import { french } from "./languages/French.ts"
import { german } from "./languages/German.ts"
import { italian } from "./languages/Italian.ts"
import { norwegian } from "./languages/Norwegian.ts"
import { polish } from "./languages/Polish.ts"
import { portuguese } from "./languages/Portuguese.ts"
import { spanish } from "./languages/Spanish.ts"
import { swedish } from "./languages/Swedish.ts"

/** The fixed phrases of the agent in a language, and the phrases that it must recognize. */
export interface Phrases {
  /** Said when the caller has to wait. */
  readonly wait: string
  /** The same when something failed. */
  readonly waitWithApology: string
  /** Said when no model gave an answer: something went wrong, please say it again. */
  readonly modelApology: string
  /** Said before the call ends because no model gave an answer, if there is no farewell. */
  readonly endingApology: string
  /** Said before the call ends because speech-to-text broke again and again. */
  readonly hearingApology: string
  /** Words by which a listener signals "go on", separated by commas. See Backchannels. */
  readonly backchannels: string
  /** Regular expressions for what voicemails say and people who pick up do not. See VoicemailGreetings. */
  readonly voicemailGreetings: ReadonlyArray<string>
}

/** The first subtag of a supported language: `en` of `en-US`. */
type PrimaryLanguage = Language extends infer L ? (L extends `${infer Primary}-${string}` ? Primary : never) : never

/** The phrases of every supported language. The compiler names one that is missing. */
export const phrases: { readonly [P in PrimaryLanguage]: Phrases } = {
  en: english,
  es: spanish,
  nl: dutch,
  de: german,
  fr: french,
  it: italian,
  pt: portuguese,
  pl: polish,
  sv: swedish,
  da: danish,
  nb: norwegian,
  fi: finnish
}

const table: { readonly [primary: string]: Phrases } = phrases

/** The phrases of a BCP-47 language, English where there are none. */
export const phrasesIn = (language: string): Phrases => table[language.slice(0, 2)] ?? english
