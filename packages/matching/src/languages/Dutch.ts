import type { Vocabulary } from "../Vocabulary.ts"

export const dutch: Vocabulary = {
  units:
    "nul een/één twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien achttien negentien",
  tens: "twintig dertig veertig vijftig zestig zeventig tachtig negentig",
  compounds: "units and tens",
  hundred: "honderd",
  thousand: "duizend",
  million: "miljoen",
  and: "en",
  ordinals:
    "eerste tweede derde vierde vijfde zesde zevende achtste negende tiende elfde twaalfde dertiende veertiende vijftiende zestiende zeventiende achttiende negentiende",
  ordinalTens: "twintigste dertigste",
  ambiguous: "een eerste tweede elf",
  double: "dubbel/dubbele/dubbel-",
  triple: "driedubbel/driemaal",
  months:
    "januari/jan februari/feb maart/mrt april/apr mei juni/jun juli/jul augustus/aug september/sep/sept oktober/okt november/nov december/dec",
  inDates: "de van op",
  at: "apenstaartje/apenstaart/apestaartje/apestaart/at",
  dot: "punt",
  signs: "streepje koppelteken min underscore schuine streep plus laag",
  spellingWords:
    "anna anton bernard cornelis dirk eduard ferdinand gerard hendrik izaak johan karel lodewijk maria nico otto pieter quotiënt rudolf simon teunis utrecht victor willem xantippe ypsilon ijmuiden zaandam zacharias",
  letterNames: {
    b: "bee/be",
    c: "cee/see",
    d: "dee/de",
    e: "ee",
    f: "ef/eff",
    g: "gee/ge",
    h: "ha",
    i: "ie",
    j: "jee/je",
    k: "ka",
    l: "el/ell",
    m: "em",
    n: "en",
    o: "oo",
    p: "pee/pe",
    q: "ku/kuu",
    r: "er/err",
    s: "es/ess",
    t: "tee/te",
    v: "vee/ve",
    w: "wee/we",
    x: "ix",
    y: "ypsilon/ij",
    z: "zet/zed"
  },
  spelledAs: "van, als in, zoals, zoals in, voor",
  fillers:
    "een en mijn naam is ik heet ben het dat de nummer code pin adres email mail e datum geboren op geboortedatum " +
    "alstublieft ja nou dus goed dank bedankt wel spreekt hier mailadres emailadres gespeld",
  leadIns:
    "ons onze wij we hebben heb denk geloof even kijken hè hé zo die mn was mij me bereiken kunt kan u je via sturen " +
    "stuur naar postcode wachtwoord hallo hoi pincode moment momentje volgens klopt juist correct inderdaad",
  patience: "een moment, een momentje, een ogenblik, een ogenblikje, een seconde, een minuut, een minuutje",
  kinds: "klantnummer telefoonnummer bestelnummer alles kleine letters hoofdletters werk privé zakelijk zakelijke",
  times: {
    hour: "uur",
    half: "half",
    halfOf: "next",
    quarter: "kwart",
    past: "over na",
    to: "voor",
    midnight: "middernacht",
    morning: "ochtends ochtend morgens",
    later: "middags middag namiddags namiddag avonds avond",
    around: "om s in de",
    minute: "minuten minuut"
  },
  measures: {
    euro: "euro",
    dollar: "dollar",
    cent: "cent",
    percent: "procent",
    kilometer: "kilometer",
    meter: "meter",
    centimeter: "centimeter",
    millimeter: "millimeter",
    kilogram: "kilogram",
    liter: "liter"
  }
}
