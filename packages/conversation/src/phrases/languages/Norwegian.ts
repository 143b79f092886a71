import type { Phrases } from "../Phrases.ts"

export const norwegian: Phrases = {
  wait: "Et øyeblikk, takk.",
  waitWithApology: "Beklager, et øyeblikk.",
  modelApology: "Beklager, noe gikk galt. Kan du si det igjen?",
  endingApology: "Beklager, jeg kan ikke fortsette på grunn av en teknisk feil. Ring igjen senere.",
  hearingApology: "Beklager, jeg kan ikke høre deg på grunn av en teknisk feil. Ring igjen senere.",
  backchannels:
    "mm, mmm, mhm, hm, hmm, øh, eh, aha, ah, ja, jaja, jo, jepp, ok, okei, okay, akkurat, nettopp, riktig, jeg forstår, forstår, skjønner, jeg skjønner, fint, greit",
  voicemailGreetings: ["telefonsvarer?", "etter (?:pipet|pipetonen|tonen)"]
}
