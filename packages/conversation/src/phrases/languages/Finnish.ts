import type { Phrases } from "../Phrases.ts"

export const finnish: Phrases = {
  wait: "Hetkinen, olkaa hyvä.",
  waitWithApology: "Anteeksi, hetkinen.",
  modelApology: "Anteeksi, jokin meni vikaan. Voisitteko toistaa?",
  endingApology: "Anteeksi, en voi jatkaa teknisen vian vuoksi. Soittakaa myöhemmin uudelleen.",
  hearingApology: "Anteeksi, en kuule teitä teknisen vian vuoksi. Soittakaa myöhemmin uudelleen.",
  backchannels:
    "mm, mmm, mhm, hm, hmm, öö, aha, ahaa, ai, joo, juu, jep, kyllä, niin, ok, okei, okay, aivan, just, selvä, ymmärrän, totta, hyvä, vai niin",
  voicemailGreetings: ["vastaaja", "äänimerkin jälkeen", "jät[äa] viesti"]
}
