import type { Phrases } from "../Phrases.ts"

export const french: Phrases = {
  wait: "Un instant, s'il vous plaît.",
  waitWithApology: "Désolé, un instant, s'il vous plaît.",
  modelApology: "Désolé, un problème est survenu. Pourriez-vous répéter, s'il vous plaît ?",
  endingApology: "Désolé, un problème technique m'empêche de continuer. Veuillez rappeler plus tard.",
  hearingApology: "Désolé, un problème technique m'empêche de vous entendre. Veuillez rappeler plus tard.",
  backchannels:
    "mm, mmm, mhm, hm, hmm, euh, ah, oh, oui, ouais, ok, okay, d'accord, d accord, bien, très bien, exact, voilà, je vois, je comprends, entendu, ah bon",
  voicemailGreetings: [
    "messagerie",
    "r[eé]pondeur",
    "apr[eè]s le (?:bip|signal)",
    "laissez (?:un|votre|moi un) message"
  ]
}
