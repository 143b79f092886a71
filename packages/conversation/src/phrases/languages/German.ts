import type { Phrases } from "../Phrases.ts"

export const german: Phrases = {
  wait: "Einen Moment, bitte.",
  waitWithApology: "Entschuldigung, einen Moment, bitte.",
  modelApology: "Entschuldigung, da ist etwas schiefgegangen. Können Sie das bitte wiederholen?",
  endingApology:
    "Entschuldigung, wegen einer technischen Störung kann ich nicht weitermachen. Bitte rufen Sie später noch einmal an.",
  hearingApology:
    "Entschuldigung, wegen einer technischen Störung kann ich Sie nicht verstehen. Bitte rufen Sie später noch einmal an.",
  backchannels:
    "aha, mm, mmm, mhm, hm, hmm, äh, ähm, ah, ach, ach so, achso, oh, ja, jaja, jawohl, ok, okay, gut, genau, richtig, klar, stimmt, verstehe, ich verstehe, alles klar",
  voicemailGreetings: [
    "mailbox",
    "anrufbeantworter",
    "nach dem (?:signalton|piep ?ton|piep|ton|signal)",
    "hinterlassen sie"
  ]
}
