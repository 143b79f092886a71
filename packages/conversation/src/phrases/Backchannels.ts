/**
 * Words by which a listener says "go on", by language, as a list with commas. They are no attempt to take the floor. Case,
 * punctuation and diacritics do not matter.
 */
const lists: { readonly [language: string]: string } = {
  en: "uh-huh, uh huh, uhuh, mm-hmm, mhm, mm, mmm, hm, hmm, uh, um, ah, oh, aha, yeah, yep, yup, yes, ok, okay, right, sure, i see, got it, alright, all right, i understand, go on",
  es: "ajá, mm, mmm, mhm, hm, ah, oh, eh, sí, ya, vale, ok, okay, claro, bueno, bien, de acuerdo, entiendo, ya veo, exacto",
  nl: "uh-huh, aha, mm, mmm, mhm, hm, hmm, uh, eh, ah, oh, ja, jaja, jawel, oké, ok, okay, juist, precies, goed, prima, dat klopt, ik snap het, snap ik, ik begrijp het",
  de: "aha, mm, mmm, mhm, hm, hmm, äh, ähm, ah, ach, ach so, achso, oh, ja, jaja, jawohl, ok, okay, gut, genau, richtig, klar, stimmt, verstehe, ich verstehe, alles klar",
  fr: "mm, mmm, mhm, hm, hmm, euh, ah, oh, oui, ouais, ok, okay, d'accord, d accord, bien, très bien, exact, voilà, je vois, je comprends, entendu, ah bon",
  it: "mm, mmm, mhm, hm, eh, ehm, ah, oh, aha, sì, già, ok, okay, va bene, bene, certo, giusto, esatto, capisco, ho capito, d'accordo, d accordo",
  pt: "mm, mmm, mhm, hm, ah, oh, aham, hã, sim, pois, pois é, ok, okay, está, está bem, tá, tá bem, certo, claro, exato, bem, entendo, percebo, de acordo",
  pl: "mm, mmm, mhm, yhm, hm, hmm, aha, ah, ach, och, eee, no, no tak, tak, ok, okej, okay, dobrze, dobra, jasne, rozumiem, racja, zgadza się, właśnie",
  sv: "mm, mmm, mhm, hm, hmm, aha, ah, å, ja, jaha, jo, japp, ok, okej, okay, just det, precis, visst, jag förstår, förstår, bra, exakt",
  da: "mm, mmm, mhm, hm, hmm, øh, aha, ah, ja, jaja, jo, jep, ok, okay, nå, netop, præcis, lige præcis, ja ja, jeg forstår, forstår, fint, godt",
  nb: "mm, mmm, mhm, hm, hmm, øh, eh, aha, ah, ja, jaja, jo, jepp, ok, okei, okay, akkurat, nettopp, riktig, jeg forstår, forstår, skjønner, jeg skjønner, fint, greit",
  fi: "mm, mmm, mhm, hm, hmm, öö, aha, ahaa, ai, joo, juu, jep, kyllä, niin, ok, okei, okay, aivan, just, selvä, ymmärrän, totta, hyvä, vai niin"
}

/** No longer text is a backchannel, however often it says "yes". */
const longest = 40

const plain = (text: string): string =>
  text
    .normalize("NFD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()

const phrasesOf = new Map(
  Object.entries(lists).map(([language, list]) => [language, [...new Set(list.split(",").map(plain))]])
)

const consistsOf = (phrases: ReadonlyArray<string>, text: string, unfinished: boolean): boolean =>
  text === "" ||
  phrases.some(
    (phrase) =>
      text === phrase ||
      (unfinished && phrase.startsWith(text)) ||
      (text.startsWith(`${phrase} `) && consistsOf(phrases, text.slice(phrase.length + 1), unfinished))
  )

/**
 * Whether a text in a BCP-47 language consists of nothing but backchannels. `unfinished`: more may follow, so it is
 * enough that it may still become one. Of languages without a list nothing is one, nor is a text without words.
 */
export const isBackchannel = (text: string, language: string, unfinished = false): boolean => {
  const words = plain(text)
  const phrases = phrasesOf.get(language.slice(0, 2).toLowerCase()) ?? []
  return words !== "" && words.length <= longest && consistsOf(phrases, words, unfinished)
}
