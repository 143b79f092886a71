import type { Vocabulary } from "../Vocabulary.ts"

export const english: Vocabulary = {
  units:
    "zero/nought/naught one two three four five six seven eight nine/niner ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
  tens: "twenty thirty forty/fourty fifty sixty seventy eighty ninety",
  compounds: "tens units",
  hundred: "hundred",
  thousand: "thousand",
  million: "million/millions",
  and: "and",
  article: "a",
  ordinals:
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth",
  ordinalTens: "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth",
  ambiguous: "first second ten",
  double: "double",
  triple: "triple/treble",
  months:
    "january/jan february/feb march/mar april/apr may june/jun july/jul august/aug september/sep/sept october/oct november/nov december/dec",
  inDates: "of the on in",
  at: "at",
  dot: "dot/period/point",
  signs: "dash hyphen minus underscore slash plus",
  spellingWords:
    "able adam apple baker boy charles david dog easy edward frank fox george harry henry ida item john jack king lincoln love mary nancy nora ocean orange paul peter queen robert roger sam sugar thomas tom union victor william young zebra",
  letterNames: {
    a: "ay",
    b: "bee/be",
    c: "cee/see/sea",
    d: "dee",
    f: "eff/ef",
    g: "gee",
    h: "aitch/haitch",
    i: "eye",
    j: "jay",
    k: "kay",
    l: "ell/el",
    m: "em",
    n: "en",
    o: "oh",
    p: "pee/pea",
    q: "cue/queue",
    r: "ar/are",
    s: "ess/es",
    t: "tee/tea",
    u: "you",
    v: "vee",
    w: "double-u/double-you",
    x: "ex",
    y: "why/wye",
    z: "zee/zed"
  },
  spelledAs: "as in, for, like, is for, as",
  fillers:
    "to my first last name is im i am its it this thats that the a an called number code pin address email mail e date " +
    "birth born on please yes yeah yep ok okay well so sure thank thanks you would be speaking here spelled spelt capital " +
    "uppercase lowercase",
  leadIns:
    "hi hello was were our his her their can could might ill id ive youll let lets me see use got get have has go try " +
    "said say says think believe guess ones just moment passcode password postcode numbers thatd goes like as if remember " +
    "sorry um reach contact send write find at should hold wait right correct exactly",
  patience: "one moment, one second, one sec, one minute, a moment, a second, a sec, a minute",
  kinds:
    "booking reservation order account customer reference member membership phone mobile cell telephone zip all lower upper case letters work personal private business",
  times: {
    hour: "o'clock oclock hours",
    half: "half",
    halfOf: "past",
    quarter: "quarter",
    past: "past after",
    to: "to till before of",
    noon: "noon midday",
    midnight: "midnight",
    morning: "morning",
    later: "afternoon evening",
    around: "at in the a about",
    minute: "minutes minute"
  },
  measures: {
    euro: "euros euro",
    dollar: "dollars dollar",
    pound: "pounds quid",
    franc: "francs",
    zloty: "zlotys",
    krone: "kronor kroner",
    cent: "cents",
    penny: "pennies",
    percent: "percent",
    kilometer: "kilometers kilometres",
    meter: "meters metres",
    centimeter: "centimeters centimetres",
    millimeter: "millimeters millimetres",
    kilogram: "kilograms kilos",
    gram: "grams grammes",
    liter: "liters litres"
  }
}
