import type { Phrases } from "../Phrases.ts"

export const english: Phrases = {
  wait: "One moment, please.",
  waitWithApology: "I'm sorry, one moment please.",
  modelApology: "I'm sorry, something went wrong. Could you please say that again?",
  endingApology: "I'm sorry, I can't go on because of a technical problem. Please call again later.",
  hearingApology: "I'm sorry, I can't hear you properly because of a technical problem. Please call again later.",
  backchannels:
    "uh-huh, uh huh, uhuh, mm-hmm, mhm, mm, mmm, hm, hmm, uh, um, ah, oh, aha, yeah, yep, yup, yes, ok, okay, right, sure, i see, got it, alright, all right, i understand, go on",
  voicemailGreetings: [
    "voice ?mail",
    "answering machine",
    "(?:after|at) the (?:beep|tone|signal)",
    "leave (?:me |us |him |her |them )?(?:a|your) (?:brief |short )?message",
    "record your message",
    "can(?:not|'t|’t) (?:take|come to|get to) (?:your call|the phone)"
  ]
}
