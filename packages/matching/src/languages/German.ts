import type { Vocabulary } from "../Vocabulary.ts"

export const german: Vocabulary = {
  units:
    "null ein/eins/eine/einen zwei/zwo drei vier fünf sechs/sech sieben/sieb acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn",
  tens: "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
  compounds: "units and tens",
  hundred: "hundert",
  thousand: "tausend",
  million: "million/millionen",
  and: "und",
  ordinals:
    "erst zweit dritt viert fünft sechst siebt/siebent acht neunt zehnt elft zwölft dreizehnt vierzehnt fünfzehnt sechzehnt siebzehnt achtzehnt neunzehnt",
  ordinalTens: "zwanzigst dreißigst",
  ordinalEndings: "e en er es em",
  ambiguous: "ein eine einen erste ersten erster erstes erstem zweite zweiten zweiter achten sieb sech elf",
  double: "doppel/doppelt/doppelte",
  triple: "dreifach",
  months:
    "januar/jänner/jan februar/feber/feb märz april/apr mai juni/juno/jun juli/julei/jul august/aug september/sep/sept oktober/okt november/nov dezember/dez",
  inDates: "am der den des vom",
  at: "at/ät/klammeraffe",
  dot: "punkt",
  signs: "bindestrich minus strich unterstrich schrägstrich plus",
  spellingWords:
    "anton ärger berta cäsar charlotte dora emil friedrich gustav heinrich ida julius kaufmann konrad ludwig martha nordpol otto ökonom paula quelle richard samuel siegfried theodor ulrich übermut viktor wilhelm xanthippe ypsilon zacharias zeppelin aachen berlin chemnitz düsseldorf essen frankfurt goslar hamburg ingelheim jena köln leipzig münchen nürnberg offenbach potsdam quickborn rostock salzwedel tübingen unna völklingen wuppertal xanten zwickau",
  letterNames: {
    b: "be/beh",
    c: "ce/ze/zeh",
    d: "de/deh",
    e: "eh",
    f: "ef/eff",
    g: "ge/geh",
    h: "ha/hah",
    j: "jot",
    k: "ka",
    l: "el/ell",
    m: "em/emm",
    n: "en/enn",
    p: "pe/peh",
    q: "ku/kuh",
    r: "er/err",
    s: "es/ess",
    t: "te/teh",
    u: "uh",
    v: "vau/fau",
    w: "we/weh",
    x: "ix",
    y: "ypsilon",
    z: "zet/zett"
  },
  spelledAs: "wie, für",
  fillers:
    "ein eine einen mein meine name ist ich heiße bin das es die nummer adresse email mail e code pin datum geboren am " +
    "lautet bitte ja also genau gut danke vielen dank hier spricht buchstabiert großgeschrieben",
  leadIns:
    "unser unsere unserer ihr glaube denke habe hab haben hätte wäre war wir sie so aha moment warten nun na naja okay ok " +
    "hallo guten tag der den postleitzahl kennwort passwort mailadresse emailadresse erreichst erreichen mich mir unter " +
    "schreiben schicken senden du können gerne gern geburtsdatum geburtstag wohne heißt auf von richtig korrekt stimmt",
  patience: "einen moment, einen augenblick, ein moment, ein augenblick, eine sekunde, eine minute",
  kinds:
    "kundennummer telefonnummer handynummer rufnummer bestellnummer buchungsnummer alles kleingeschrieben kleinbuchstaben privat private geschäftlich geschäftliche",
  times: {
    hour: "Uhr",
    half: "halb",
    halfOf: "next",
    quarter: "viertel",
    threeQuarters: "dreiviertel",
    quarterOfNext: true,
    past: "nach",
    to: "vor",
    noon: "mittag",
    midnight: "mitternacht",
    morning: "morgens früh vormittags vormittag",
    later: "nachmittags nachmittag abends abend",
    around: "um am gegen",
    minute: "minuten minute"
  },
  measures: {
    euro: "Euro Euros",
    dollar: "Dollar",
    pound: "Pfund",
    cent: "Cent",
    percent: "Prozent",
    kilometer: "Kilometer",
    meter: "Meter",
    centimeter: "Zentimeter",
    millimeter: "Millimeter",
    mile: "Meilen",
    kilogram: "Kilogramm",
    gram: "Gramm",
    liter: "Liter"
  }
}
