import type { Vocabulary } from "../Vocabulary.ts"

export const danish: Vocabulary = {
  units:
    "nul en/et/én/ét to tre fire fem seks syv otte ni ti elleve/elve tolv tretten fjorten femten seksten sytten atten nitten",
  tens: "tyve tredive fyrre/fyrretyve halvtreds/halvtredsindstyve tres/treds/tresindstyve halvfjerds/halvfjerdsindstyve firs/firsindstyve halvfems/halvfemsindstyve",
  compounds: "units and tens",
  hundred: "hundrede/hundred",
  thousand: "tusind/tusinde/ettusind/ettusinde",
  million: "million/millioner",
  and: "og",
  ordinals:
    "første anden/andet tredje fjerde femte sjette syvende ottende niende tiende ellevte/elvte tolvte trettende fjortende femtende sekstende syttende attende nittende",
  ordinalTens: "tyvende tredivte",
  ambiguous: "en et to ni ti fire forste anden andet",
  double: "dobbelt/dobbelte",
  triple: "tredobbelt/tripel",
  months:
    "januar/jan februar/feb marts april/apr maj juni/jun juli/jul august/aug september/sep/sept oktober/okt november/nov december/dec",
  inDates: "den",
  at: "snabel-a/snabela/snabel/at",
  dot: "punktum/prik",
  signs: "bindestreg streg minus understreg skråstreg plus",
  spellingWords:
    "anna anders bernhard bent cecilie david dora emil erik frederik georg gerda hans ida ivar johan jens karen ludvig lars marie mads nikolaj niels odin ole otto peter quintus rasmus søren theodor ulla viggo verner william wilhelm xerxes yrsa zackarias ægir åse østen",
  letterNames: {
    b: "be",
    c: "ce",
    d: "de",
    f: "eff",
    g: "ge",
    h: "hå",
    j: "jåd",
    k: "kå",
    l: "ell",
    m: "em",
    n: "enn",
    p: "pe",
    q: "ku",
    r: "ær",
    s: "ess",
    t: "te",
    v: "ve",
    w: "dobbelt-ve",
    x: "eks",
    z: "zet/sæt"
  },
  spelledAs: "som i, som, for",
  fillers:
    "en et og mit navn er jeg hedder det den nummeret nummer kode koden pin adresse email mail e dato født ja altså okay " +
    "tak",
  leadIns:
    "min mine vores tror har havde så da nå mailadresse mig på du kan skrive sende til hej telefonnummer kundenummer " +
    "ordrenummer bookingnummer postnummer adgangskode var øjeblik tal pinkode pinkoden rigtigt korrekt præcis",
  patience: "et øjeblik, et sekund, et minut",
  kinds: "telefon alt små bogstaver arbejde privat",
  times: {
    hour: "klokken kl",
    half: "halv",
    halfOf: "next",
    quarter: "kvart kvarter",
    past: "over",
    to: "i",
    midnight: "midnat",
    morning: "morgenen formiddagen",
    later: "eftermiddagen aftenen",
    around: "om",
    minute: "minutter minut"
  },
  measures: {
    euro: "euro",
    dollar: "dollar",
    pound: "pund",
    krone: "kroner",
    cent: "cent",
    ore: "øre",
    percent: "procent",
    kilometer: "kilometer",
    meter: "meter",
    centimeter: "centimeter",
    millimeter: "millimeter",
    kilogram: "kilogram",
    liter: "liter"
  }
}
