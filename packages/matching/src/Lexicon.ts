import { type Language, languages } from "@svc/api/agents/Language"
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
import { type Numbers, numbersOf } from "./Numbers.ts"
import { keysOf } from "./Tokens.ts"
import { listOf, type TimeVocabulary, type Unit, unitNames, type Vocabulary, wordsOf } from "./Vocabulary.ts"

const vocabularies: Readonly<Record<Language, Vocabulary>> = {
  "en-US": english,
  "en-GB": english,
  "es-ES": spanish,
  "nl-NL": dutch,
  "de-DE": german,
  "fr-FR": french,
  "it-IT": italian,
  "pt-PT": portuguese,
  "pl-PL": polish,
  "sv-SE": swedish,
  "da-DK": danish,
  "nb-NO": norwegian,
  "fi-FI": finnish
}

/** What a language's words mean. All words are keys as in `keysOf`. */
export interface Lexicon {
  /** One bit, another for each language. */
  readonly bit: number
  readonly numbers: Numbers
  /** Number words that may be ordinary words. */
  readonly ambiguous: ReadonlySet<string>
  /** "double" and "triple", as 2 and 3. */
  readonly repeats: ReadonlyMap<string, number>
  /** Words of a spelling alphabet and names of letters. */
  readonly letters: ReadonlyMap<string, string>
  /** Those of two words, without the space: `doubleu`. */
  readonly twoWordLetters: ReadonlyMap<string, string>
  /** Phrases between a letter and a word that begins with it. */
  readonly spelledAs: ReadonlyArray<ReadonlyArray<string>>
  /** "oh" between digits is 0. */
  readonly saysOh: boolean
  readonly times: TimeWords
}

/** What a language's words of times of day mean; see `TimeVocabulary`. Names of two words are one key. */
export interface TimeWords extends Pick<TimeVocabulary, "halfOf"> {
  readonly hour: ReadonlySet<string>
  readonly half: ReadonlySet<string>
  readonly quarter: ReadonlySet<string>
  readonly quarterOfNext: boolean
  readonly threeQuarters: ReadonlySet<string>
  readonly past: ReadonlySet<string>
  readonly to: ReadonlySet<string>
  readonly before: ReadonlySet<string>
  readonly and: ReadonlySet<string>
  readonly less: ReadonlySet<string>
  readonly minutes: ReadonlyMap<string, number>
  readonly minute: ReadonlySet<string>
  readonly noon: ReadonlySet<string>
  readonly midnight: ReadonlySet<string>
  readonly morning: ReadonlySet<string>
  readonly later: ReadonlySet<string>
  readonly around: ReadonlySet<string>
  /** All words that make something a time. */
  readonly all: ReadonlySet<string>
}

/** The spelling alphabet of the ICAO, which is also NATO's. */
const international =
  "alfa alpha bravo charlie delta echo foxtrot golf hotel india juliett juliet kilo lima mike november oscar papa quebec romeo sierra tango uniform victor whiskey whisky x-ray xray yankee zulu"

const keys = (text: string): ReadonlySet<string> => new Set(wordsOf(text).flatMap(keysOf))

const timeWordsOf = ({ halfOf, minutes = {}, quarterOfNext = false, ...lists }: TimeVocabulary): TimeWords => {
  const own = (text = "") => keys(text.replaceAll("'", ""))
  const minuteWords = Object.entries(minutes).flatMap(([minute, word]) =>
    keysOf(word).map((key): [string, number] => [key, Number(minute)])
  )
  const { before, half, hour, later, less, midnight, morning, noon, past, quarter, threeQuarters, to } = lists
  return {
    halfOf,
    quarterOfNext,
    hour: own(hour),
    half: own(half),
    quarter: own(quarter),
    threeQuarters: own(threeQuarters),
    past: own(past),
    to: own(to),
    before: own(before),
    and: own(lists.and),
    less: own(less),
    minutes: new Map(minuteWords),
    minute: own(lists.minute),
    noon: own(noon),
    midnight: own(midnight),
    morning: own(morning),
    later: own(later),
    around: own(lists.around),
    all: own([hour, half, quarter, threeQuarters, past, to, before, less, noon, midnight, morning, later].join(" "))
  }
}

const lexiconOf = (words: Vocabulary, index: number): Lexicon => {
  const letters = new Map<string, string>()
  const twoWordLetters = new Map<string, string>()
  const addLetter = (name: string, letter: (key: string) => string) => {
    for (const key of keysOf(name)) {
      letters.set(key, letter(key))
      if (name.includes("-")) twoWordLetters.set(key, letter(key))
    }
  }
  for (const [letter, names] of Object.entries(words.letterNames)) {
    for (const name of wordsOf(names)) addLetter(name, () => letter)
  }
  for (const word of wordsOf(`${international} ${words.spellingWords}`)) addLetter(word, (key) => key.slice(0, 1))
  const repeat = (text: string, times: number) => [...keys(text)].map((key): [string, number] => [key, times])
  return {
    bit: 1 << index,
    numbers: numbersOf(words),
    ambiguous: keys(words.ambiguous),
    repeats: new Map([...repeat(words.double, 2), ...repeat(words.triple, 3)]),
    letters,
    twoWordLetters,
    spelledAs: words.spelledAs
      .split(", ")
      .map((phrase) => phrase.split(" ").flatMap((word) => keysOf(word).slice(0, 1))),
    saysOh: words === english,
    times: timeWordsOf(words.times)
  }
}

const distinct = [...new Set(languages.map((language) => vocabularies[language]))]

/** One lexicon for each language; the two kinds of English share theirs. */
export const lexicons: ReadonlyArray<Lexicon> = distinct.map(lexiconOf)

const all = (field: "inDates" | "at" | "dot" | "signs" | "fillers" | "leadIns" | "kinds" | "and") =>
  keys(distinct.map((words) => words[field]).join(" "))

/** Months of all languages, 1 to 12. */
export const months: ReadonlyMap<string, number> = new Map(
  distinct.flatMap((words) =>
    listOf(words.months).flatMap((names, index) =>
      names.flatMap(keysOf).map((key): [string, number] => [key, index + 1])
    )
  )
)
/**
 * Days of the week of all languages, 0 for Monday to 6, by their names and short names. Those of two
 * words are also known by each word: "segundafeira", "segunda" and "feira".
 */
export const weekdays: ReadonlyMap<string, number> = new Map(
  languages.flatMap((language) =>
    (["long", "short"] as const).flatMap((weekday) => {
      const format = new Intl.DateTimeFormat(language, { weekday, timeZone: "UTC" })
      const { weekdayEnding } = vocabularies[language]
      return Array.from({ length: 7 }, (_, day) => day).flatMap((day) => {
        // 1 January 2024 was a Monday.
        const name = format.format(Date.UTC(2024, 0, 1 + day)).replaceAll(".", "")
        const names = weekdayEnding === undefined ? [name] : [name, name + weekdayEnding]
        return names
          .flatMap((each) => [each, ...each.split("-")])
          .flatMap(keysOf)
          .map((key): [string, number] => [key, day])
      })
    })
  )
)
export const inDates = all("inDates")
export const atWords = all("at")
export const dotWords = all("dot")
export const fillers = all("fillers")
export const leadIns = all("leadIns")
export const kinds = all("kinds")
/** Requests for patience, each as one text: "onesecond". */
export const patience = keys(distinct.map((words) => words.patience.replaceAll(" ", "").replaceAll(",", " ")).join(" "))
/** Words before the decimals of a number. */
export const decimalWords: ReadonlySet<string> = new Set([
  ...dotWords,
  ...keys("comma komma virgule virgola vírgula coma przecinek pilkku con")
])
/** Words that do not separate digits: "twelve dash thirty four". */
export const betweenDigits: ReadonlySet<string> = new Set([...all("signs"), ...decimalWords, ...all("and")])
/** Words between the numbers of a date that are no ordinals: "doce del tres del setenta y ocho". */
export const betweenNumbersOfDates = keys("de del do")
/** Words between an amount and its hundredths: "cinco euros con cincuenta". */
export const betweenAmounts: ReadonlySet<string> = new Set([...all("and"), ...keys("con")])
export const signWords = all("signs")
/** Words that deny what is beside them. */
export const negations = keys("not isnt wasnt nicht kein keine niet geen pas non não nie inte ikke ei")
/** Short names of months that are other words too: they are months only after a day. */
export const monthsAfterDay = keys("sie")
/** The sign before a phone number. */
export const plusWords = keys("plus pluss più más mais")
/** Sounds of hesitation in any language. */
export const hesitations = keys("uh uhm um eh ehm hm hmm mm mmm äh ähm öh öhm euh eeh ööh")

const unitsOf = (words: Vocabulary["measures"]): ReadonlyArray<readonly [string, Unit]> =>
  unitNames.flatMap((unit) =>
    wordsOf(words[unit] ?? "")
      .flatMap(keysOf)
      .map((key): readonly [string, Unit] => [key, unit])
  )

/** The words of units in all languages. */
export const units: ReadonlyMap<string, Unit> = new Map(distinct.flatMap(({ measures }) => unitsOf(measures)))
/** Short names of units, which may be letters of a code: "1234 KM". Those of currencies are also said before a number. */
export const shortUnits: ReadonlyMap<string, Unit> = new Map(
  unitsOf({
    euro: "eur",
    dollar: "usd",
    pound: "gbp",
    franc: "chf",
    zloty: "pln zł",
    krone: "kr sek dkk nok",
    cent: "ct",
    penny: "p",
    grosz: "gr",
    percent: "pct",
    kilometer: "km",
    meter: "m",
    centimeter: "cm",
    millimeter: "mm",
    kilogram: "kg kilo",
    gram: "g",
    liter: "l"
  })
)
/** Words of units in all languages that are also names: "25 Miles Road", "Anne Frank". */
export const nameUnits: ReadonlyMap<string, Unit> = new Map(
  unitsOf({
    dollar: "bucks",
    pound: "pound pond livres punta",
    franc: "franc frank franken franco francos franchi",
    zloty: "zloty złoty złote",
    krone: "krone krona kronen kroon kruunu corone coronas",
    penny: "penny pence",
    grosz: "grosz",
    mile: "mile miles meile mijl millas",
    kilogram: "chili",
    gram: "gram"
  })
)
