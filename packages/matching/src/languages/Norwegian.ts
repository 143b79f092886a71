import type { Vocabulary } from "../Vocabulary.ts"

export const norwegian: Vocabulary = {
  units:
    "null en/et/ett/én/ein to tre fire fem seks sju/syv åtte ni ti elleve tolv tretten fjorten femten seksten sytten atten nitten",
  tens: "tjue/tyve tretti/tredve førti/førr femti seksti sytti åtti nitti",
  compounds: "either",
  compoundsAreOneWord: true,
  hundred: "hundre",
  thousand: "tusen/ettusen",
  million: "million/millioner",
  and: "og",
  ordinals:
    "første annen/andre tredje fjerde femte sjette sjuende/syvende åttende niende tiende ellevte tolvte trettende fjortende femtende sekstende syttende attende nittende",
  ordinalTens: "tjuende/tyvende trettiende/tredevte",
  ambiguous: "en et ett ein to ni ti fire forste annen andre",
  double: "dobbel/dobbelt",
  triple: "trippel",
  months:
    "januar/jan februar/feb mars april/apr mai juni/jun juli/jul august/aug september/sep/sept oktober/okt november/nov desember",
  inDates: "den",
  at: "krøllalfa/alfakrøll/krølla/at",
  dot: "punktum",
  signs: "bindestrek strek minus understrek skråstrek plus pluss",
  spellingWords:
    "anna bernhard caesar cesar david edith fredrik gustav harald ivar johan karin ludvig martin nils olivia peter petter quintus rikard sigrid teodor ulrik xerxes yngling zakarias ægir ørnulf åse",
  letterNames: {
    b: "be",
    c: "se",
    d: "de",
    f: "eff",
    g: "ge",
    h: "hå",
    j: "jodd/je",
    k: "kå",
    l: "ell",
    m: "em",
    n: "enn",
    p: "pe",
    q: "ku",
    r: "ærr",
    s: "ess",
    t: "te",
    v: "ve",
    w: "dobbelt-ve",
    x: "eks",
    z: "sett"
  },
  spelledAs: "som i, som, for",
  fillers:
    "en et ett og mitt navn er jeg heter det den nummeret nummer kode koden pin adresse epost email mail e dato født ja " +
    "altså ok takk",
  leadIns:
    "min mine mi vår vårt tror har hadde så da nå mailadresse e-postadresse meg på du kan skrive sende til hei " +
    "telefonnummer kundenummer ordrenummer bookingnummer postnummer passord var øyeblikk tall pinkode pinkoden riktig stemmer korrekt",
  patience: "et øyeblikk, ett øyeblikk, et sekund, ett sekund, et minutt",
  kinds: "telefon alt små bokstaver jobb privat",
  times: {
    hour: "klokka klokken kl",
    half: "halv",
    halfOf: "next",
    quarter: "kvart",
    past: "over",
    to: "på",
    midnight: "midnatt",
    morning: "morgenen formiddagen",
    later: "ettermiddagen kvelden",
    around: "om",
    minute: "minutter minutt"
  },
  measures: {
    euro: "euro",
    dollar: "dollar",
    pound: "pund",
    krone: "kroner",
    cent: "cent",
    ore: "øre",
    percent: "prosent",
    kilometer: "kilometer",
    meter: "meter",
    centimeter: "centimeter",
    millimeter: "millimeter",
    kilogram: "kilogram",
    liter: "liter"
  }
}
