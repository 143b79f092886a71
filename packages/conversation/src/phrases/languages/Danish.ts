import type { Phrases } from "../Phrases.ts"

export const danish: Phrases = {
  wait: "Et øjeblik, tak.",
  waitWithApology: "Undskyld, et øjeblik.",
  modelApology: "Undskyld, noget gik galt. Vil du sige det igen?",
  endingApology: "Undskyld, jeg kan ikke fortsætte på grund af en teknisk fejl. Ring venligst igen senere.",
  hearingApology: "Undskyld, jeg kan ikke høre dig på grund af en teknisk fejl. Ring venligst igen senere.",
  backchannels:
    "mm, mmm, mhm, hm, hmm, øh, aha, ah, ja, jaja, jo, jep, ok, okay, nå, netop, præcis, lige præcis, ja ja, jeg forstår, forstår, fint, godt",
  voicemailGreetings: ["telefonsvarer?", "efter (?:pipet|tonen|signalen|bippet|klartonen|hyletonen)"]
}
