import type { Phrases } from "../Phrases.ts"

export const dutch: Phrases = {
  wait: "Een ogenblik, alstublieft.",
  waitWithApology: "Sorry, een ogenblik, alstublieft.",
  modelApology: "Sorry, er ging iets mis. Kunt u dat nog een keer zeggen?",
  endingApology: "Sorry, door een technische storing kan ik niet verdergaan. Belt u later alstublieft nog eens.",
  hearingApology: "Sorry, door een technische storing kan ik u niet verstaan. Belt u later alstublieft nog eens.",
  backchannels:
    "uh-huh, aha, mm, mmm, mhm, hm, hmm, uh, eh, ah, oh, ja, jaja, jawel, oké, ok, okay, juist, precies, goed, prima, dat klopt, ik snap het, snap ik, ik begrijp het",
  voicemailGreetings: [
    "na de (?:piep|toon|pieptoon)",
    "spreek (?:uw|je|een) (?:bericht|boodschap)",
    "laat (?:een|uw|je) (?:bericht|boodschap)"
  ]
}
