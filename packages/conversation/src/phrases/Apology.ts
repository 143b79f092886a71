/** What the agent says when its model fails, by language: that something went wrong, and to please say it again. */
const apologies: { readonly [language: string]: string } = {
  en: "I'm sorry, something went wrong. Could you please say that again?",
  es: "Lo siento, algo ha fallado. ¿Podría repetirlo, por favor?",
  nl: "Sorry, er ging iets mis. Kunt u dat nog een keer zeggen?",
  de: "Entschuldigung, da ist etwas schiefgegangen. Können Sie das bitte wiederholen?",
  fr: "Désolé, un problème est survenu. Pourriez-vous répéter, s'il vous plaît ?",
  it: "Mi dispiace, qualcosa è andato storto. Può ripetere, per favore?",
  pt: "Desculpe, algo correu mal. Pode repetir, por favor?",
  pl: "Przepraszam, coś poszło nie tak. Czy może Pan lub Pani powtórzyć?",
  sv: "Förlåt, något gick fel. Kan du säga det igen?",
  da: "Undskyld, noget gik galt. Vil du sige det igen?",
  nb: "Beklager, noe gikk galt. Kan du si det igjen?",
  fi: "Anteeksi, jokin meni vikaan. Voisitteko toistaa?"
}

const english = "I'm sorry, something went wrong. Could you please say that again?"

/** The apology in a BCP-47 language. */
export const apology = (language: string): string => apologies[language.slice(0, 2)] ?? english
