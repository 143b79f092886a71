/** What voicemails say, in the languages of the platform. Whole phrases that a person who picks up does not begin with. */
const phrases: ReadonlyArray<string> = [
  // English
  "voice ?mail",
  "answering machine",
  "(?:after|at) the (?:beep|tone|signal)",
  "leave (?:me |us |him |her |them )?(?:a|your) (?:brief |short )?message",
  "record your message",
  "can(?:not|'t|’t) (?:take|come to|get to) (?:your call|the phone)",
  // Spanish
  "buz[oó]n de voz",
  "contestador",
  "despu[eé]s de(?:l tono| la señal)",
  "deje (?:su|un) mensaje",
  // Dutch
  "na de (?:piep|toon|pieptoon)",
  "spreek (?:uw|je|een) (?:bericht|boodschap)",
  "laat (?:een|uw|je) (?:bericht|boodschap)",
  // German
  "mailbox",
  "anrufbeantworter",
  "nach dem (?:signalton|piep ?ton|piep|ton|signal)",
  "hinterlassen sie",
  // French
  "messagerie",
  "r[eé]pondeur",
  "apr[eè]s le (?:bip|signal)",
  "laissez (?:un|votre|moi un) message",
  // Italian
  "segreteria telefonica",
  "dopo il (?:bip|segnale)",
  // Portuguese
  "caixa postal",
  "correio de voz",
  "(?:ap[oó]s|depois d?o) (?:o )?(?:sinal|bipe)",
  "deixe (?:a sua|sua|uma) mensagem",
  // Polish
  "poczt[aęy] głosow",
  "po sygnale",
  "zostaw(?:ić)? wiadomość",
  // Swedish, Danish, Norwegian
  "r[oö]stbrevl[aå]da",
  "telefonsvarer?",
  "telefonsvarare",
  "efter (?:pipet|tonen|signalen|bippet|klartonen|hyletonen)",
  "etter (?:pipet|pipetonen|tonen)",
  // Finnish
  "vastaaja",
  "äänimerkin jälkeen",
  "jät[äa] viesti"
]

const pattern = new RegExp(`(?:^|[^\\p{L}])(?:${phrases.join("|")})`, "iu")

/** Whether words are those of a voicemail, whatever its language. */
export const soundsLikeVoicemail = (words: string): boolean => pattern.test(words)
