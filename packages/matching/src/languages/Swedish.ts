import type { Vocabulary } from "../Vocabulary.ts"

export const swedish: Vocabulary = {
  units:
    "noll ett/en två tre fyra fem sex sju åtta nio tio elva tolv tretton fjorton femton sexton sjutton arton/aderton nitton",
  tens: "tjugo/tjugi/tjug trettio fyrtio femtio sextio sjuttio åttio nittio",
  compounds: "tens units",
  compoundsAreOneWord: true,
  hundred: "hundra",
  thousand: "tusen/ettusen",
  million: "miljon/miljoner",
  and: "och",
  ordinals:
    "första/förste andra/andre tredje fjärde femte sjätte sjunde åttonde nionde tionde elfte tolfte trettonde fjortonde femtonde sextonde sjuttonde artonde nittonde",
  ordinalTens: "tjugonde trettionde",
  ambiguous: "ett en sex forsta forste andra andre sexton",
  double: "dubbel/dubbelt",
  triple: "trippel",
  months:
    "januari/jan februari/feb mars april/apr maj juni/jun juli/jul augusti/aug september/sep/sept oktober/okt november/nov december/dec",
  weekdayEnding: "en",
  inDates: "den",
  at: "snabel-a/snabela/snabel/at/kanelbulle",
  dot: "punkt",
  signs: "bindestreck streck minus understreck snedstreck plus",
  spellingWords:
    "adam bertil caesar cesar david erik filip gustav helge ivar johan kalle ludvig martin niklas olof petter qvintus rudolf sigurd tore urban viktor wilhelm xerxes yngve zäta åke ärlig östen",
  letterNames: {
    b: "be",
    c: "ce",
    d: "de",
    f: "eff",
    g: "ge",
    h: "hå",
    j: "ji",
    k: "kå",
    l: "ell",
    m: "em",
    n: "enn",
    p: "pe",
    q: "ku",
    r: "ärr",
    s: "ess",
    t: "te",
    v: "ve",
    w: "dubbel-ve",
    x: "eks",
    z: "säta/zeta"
  },
  spelledAs: "som i, som, för",
  fillers:
    "en ett och mitt namn är jag heter det den numret nummer kod koden pin adress email mail e datum född ja alltså okej " +
    "tack",
  leadIns:
    "min vår vårt tror har hade då så va mejl mejladress epost e-post nå mig på du kan skicka till hej telefonnummer " +
    "kundnummer ordernummer bokningsnummer postnummer lösenord var ögonblick siffror pinkod pinkoden personnummer stämmer rätt precis",
  patience: "ett ögonblick, en sekund, en minut",
  kinds: "telefon allt små bokstäver jobbet privat",
  times: {
    hour: "klockan kl",
    half: "halv",
    halfOf: "next",
    quarter: "kvart",
    past: "över",
    to: "i",
    midnight: "midnatt",
    morning: "morgonen förmiddagen",
    later: "eftermiddagen kvällen",
    around: "på vid",
    minute: "minuter minut"
  },
  measures: {
    euro: "euro",
    dollar: "dollar",
    pound: "pund",
    krone: "kronor",
    cent: "cent",
    ore: "öre",
    percent: "procent",
    kilometer: "kilometer",
    meter: "meter",
    centimeter: "centimeter",
    millimeter: "millimeter",
    kilogram: "kilogram",
    liter: "liter"
  }
}
