/** What the agent says when the caller has to wait, by language. */
const moments: { readonly [language: string]: string } = {
  en: "One moment, please.",
  es: "Un momento, por favor.",
  nl: "Een ogenblik, alstublieft.",
  de: "Einen Moment, bitte.",
  fr: "Un instant, s'il vous plaît.",
  it: "Un momento, per favore.",
  pt: "Um momento, por favor.",
  pl: "Chwileczkę, proszę.",
  sv: "Ett ögonblick, tack.",
  da: "Et øjeblik, tak.",
  nb: "Et øyeblikk, takk.",
  fi: "Hetkinen, olkaa hyvä."
}

/** The same when it is our fault. */
const apologies: { readonly [language: string]: string } = {
  en: "I'm sorry, one moment please.",
  es: "Perdone, un momento, por favor.",
  nl: "Sorry, een ogenblik, alstublieft.",
  de: "Entschuldigung, einen Moment, bitte.",
  fr: "Désolé, un instant, s'il vous plaît.",
  it: "Mi scusi, un momento, per favore.",
  pt: "Desculpe, um momento, por favor.",
  pl: "Przepraszam, chwileczkę.",
  sv: "Förlåt, ett ögonblick.",
  da: "Undskyld, et øjeblik.",
  nb: "Beklager, et øyeblikk.",
  fi: "Anteeksi, hetkinen."
}

const english = "One moment, please."

/** The words in a BCP-47 language. */
export const moment = (language: string): string => moments[language.slice(0, 2)] ?? english

/** The same with an apology. */
export const sorry = (language: string): string => apologies[language.slice(0, 2)] ?? english
