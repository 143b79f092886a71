import type { Phrases } from "../Phrases.ts"

export const spanish: Phrases = {
  wait: "Un momento, por favor.",
  waitWithApology: "Perdone, un momento, por favor.",
  modelApology: "Lo siento, algo ha fallado. ¿Podría repetirlo, por favor?",
  endingApology: "Lo siento, por un problema técnico no puedo continuar. Por favor, vuelva a llamar más tarde.",
  hearingApology: "Lo siento, por un problema técnico no puedo oírle. Por favor, vuelva a llamar más tarde.",
  backchannels:
    "ajá, mm, mmm, mhm, hm, ah, oh, eh, sí, ya, vale, ok, okay, claro, bueno, bien, de acuerdo, entiendo, ya veo, exacto",
  voicemailGreetings: ["buz[oó]n de voz", "contestador", "despu[eé]s de(?:l tono| la señal)", "deje (?:su|un) mensaje"]
}
