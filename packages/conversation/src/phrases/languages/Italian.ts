import type { Phrases } from "../Phrases.ts"

export const italian: Phrases = {
  wait: "Un momento, per favore.",
  waitWithApology: "Mi scusi, un momento, per favore.",
  modelApology: "Mi dispiace, qualcosa è andato storto. Può ripetere, per favore?",
  endingApology: "Mi dispiace, per un problema tecnico non posso continuare. La prego di richiamare più tardi.",
  hearingApology: "Mi dispiace, per un problema tecnico non riesco a sentirla. La prego di richiamare più tardi.",
  backchannels:
    "mm, mmm, mhm, hm, eh, ehm, ah, oh, aha, sì, già, ok, okay, va bene, bene, certo, giusto, esatto, capisco, ho capito, d'accordo, d accordo",
  voicemailGreetings: ["segreteria telefonica", "dopo il (?:bip|segnale)"]
}
