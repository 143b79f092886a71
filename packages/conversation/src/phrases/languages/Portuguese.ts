import type { Phrases } from "../Phrases.ts"

export const portuguese: Phrases = {
  wait: "Um momento, por favor.",
  waitWithApology: "Desculpe, um momento, por favor.",
  modelApology: "Desculpe, algo correu mal. Pode repetir, por favor?",
  endingApology: "Desculpe, por um problema técnico não posso continuar. Por favor, ligue novamente mais tarde.",
  hearingApology: "Desculpe, por um problema técnico não consigo ouvir. Por favor, ligue novamente mais tarde.",
  backchannels:
    "mm, mmm, mhm, hm, ah, oh, aham, hã, sim, pois, pois é, ok, okay, está, está bem, tá, tá bem, certo, claro, exato, bem, entendo, percebo, de acordo",
  voicemailGreetings: [
    "caixa postal",
    "correio de voz",
    "(?:ap[oó]s|depois d?o) (?:o )?(?:sinal|bipe)",
    "deixe (?:a sua|sua|uma) mensagem"
  ]
}
