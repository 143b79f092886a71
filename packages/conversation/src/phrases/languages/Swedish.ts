import type { Phrases } from "../Phrases.ts"

export const swedish: Phrases = {
  wait: "Ett ögonblick, tack.",
  waitWithApology: "Förlåt, ett ögonblick.",
  modelApology: "Förlåt, något gick fel. Kan du säga det igen?",
  endingApology: "Förlåt, på grund av ett tekniskt fel kan jag inte fortsätta. Ring igen senare.",
  hearingApology: "Förlåt, på grund av ett tekniskt fel kan jag inte höra dig. Ring igen senare.",
  backchannels:
    "mm, mmm, mhm, hm, hmm, aha, ah, å, ja, jaha, jo, japp, ok, okej, okay, just det, precis, visst, jag förstår, förstår, bra, exakt",
  voicemailGreetings: [
    "r[oö]stbrevl[aå]da",
    "telefonsvarare",
    "efter (?:pipet|tonen|signalen|bippet|klartonen|hyletonen)"
  ]
}
