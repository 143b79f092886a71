import type { Phrases } from "../Phrases.ts"

export const polish: Phrases = {
  wait: "Chwileczkę, proszę.",
  waitWithApology: "Przepraszam, chwileczkę.",
  modelApology: "Przepraszam, coś poszło nie tak. Czy może Pan lub Pani powtórzyć?",
  endingApology: "Przepraszam, z powodu problemu technicznego nie mogę kontynuować rozmowy. Proszę zadzwonić później.",
  hearingApology: "Przepraszam, z powodu problemu technicznego nie słyszę. Proszę zadzwonić później.",
  backchannels:
    "mm, mmm, mhm, yhm, hm, hmm, aha, ah, ach, och, eee, no, no tak, tak, ok, okej, okay, dobrze, dobra, jasne, rozumiem, racja, zgadza się, właśnie",
  voicemailGreetings: ["poczt[aęy] głosow", "po sygnale", "zostaw(?:ić)? wiadomość"]
}
