import type { Vocabulary } from "../Vocabulary.ts"

export const french: Vocabulary = {
  units:
    "zéro un/une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf",
  tens: "vingt/vingts trente quarante cinquante soixante septante huitante/octante nonante",
  compounds: "tens (and) units",
  hundred: "cent/cents",
  thousand: "mille/mil",
  million: "million/millions",
  and: "et",
  countsByTwenties: true,
  ordinals:
    "premier/première/unième deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième onzième douzième treizième quatorzième quinzième seizième dix-septième dix-huitième dix-neuvième",
  ordinalTens: "vingtième trentième quarantième cinquantième soixantième septantième huitantième/octantième nonantième",
  ambiguous: "un une premier premiere cent cents mil mille sept neuf onze",
  double: "double",
  triple: "triple",
  months:
    "janvier/janv février/févr mars avril/avr mai juin juillet/juil août septembre/sept octobre/oct novembre/nov décembre/déc",
  inDates: "le de du",
  at: "arobase/arrobase/at",
  dot: "point",
  signs: "tiret trait union bas underscore slash plus moins",
  spellingWords:
    "anatole berthe célestin désiré eugène françois gaston henri irma joseph kléber louis marcel nicolas oscar pierre quintal raoul suzanne thérèse ursule victor william xavier yvonne zoé",
  letterNames: {
    b: "bé",
    c: "cé",
    d: "dé",
    f: "effe",
    g: "gé",
    h: "ache",
    j: "ji",
    k: "ka",
    l: "elle",
    m: "emme",
    n: "enne",
    p: "pé",
    q: "ku",
    r: "erre",
    s: "esse",
    t: "té",
    v: "vé",
    w: "double-v/double-vé",
    x: "ixe",
    y: "i-grec",
    z: "zède"
  },
  spelledAs: "comme, de",
  fillers:
    "un une et mon ma nom est je mappelle suis cest le la numéro code adresse email mail e date naissance né née il sagit " +
    "oui alors voilà merci sil vous plaît majuscule minuscule",
  leadIns:
    "notre nos votre jai crois pense bon ben bah eh bien ça fait attendez attends voici pouvez me joindre contacter " +
    "écrire envoyer à moi courriel mél mot passe bonjour donc euh de du mois était en effet pin exact exactement correct",
  patience: "un moment, un instant, une seconde, une minute",
  kinds:
    "téléphone portable client commande réservation postal tout minuscules majuscules professionnel professionnelle personnel personnelle perso travail",
  times: {
    hour: "heures heure h",
    half: "demie demi",
    halfOf: "past",
    quarter: "quart",
    and: "et",
    less: "moins",
    noon: "midi",
    midnight: "minuit",
    morning: "matin",
    later: "après-midi l'après-midi soir",
    around: "à de du le",
    minute: "minutes minute"
  },
  measures: {
    euro: "euros euro",
    dollar: "dollars dollar",
    franc: "francs",
    krone: "couronnes",
    cent: "centimes centime",
    kilometer: "kilomètres kilomètre",
    meter: "mètres mètre",
    centimeter: "centimètres centimètre",
    millimeter: "millimètres millimètre",
    kilogram: "kilogrammes kilogramme kilos",
    gram: "grammes gramme",
    liter: "litres litre"
  }
}
