import type { Vocabulary } from "../Vocabulary.ts"

export const italian: Vocabulary = {
  units:
    "zero un/uno/una due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove",
  tens: "venti/vent trenta/trent quaranta/quarant cinquanta/cinquant sessanta/sessant settanta/settant ottanta/ottant novanta/novant",
  compounds: "tens units",
  compoundsAreOneWord: true,
  hundred: "cento/cent",
  thousand: "mille/mila",
  million: "milione/milioni",
  and: "e",
  // After tens: "ventunesimo".
  ordinals:
    "primo/prima/unesimo/unesima secondo/seconda/duesimo/duesima terzo/terza/treesimo/treesima quarto/quarta/quattresimo/quattresima quinto/quinta/cinquesimo/cinquesima sesto/sesta/seiesimo/seiesima settimo/settima/settesimo/settesima ottavo/ottava/ottesimo/ottesima nono/nona/novesimo/novesima decimo/decima undicesimo/undicesima dodicesimo/dodicesima tredicesimo/tredicesima quattordicesimo/quattordicesima quindicesimo/quindicesima sedicesimo/sedicesima diciassettesimo/diciassettesima diciottesimo/diciottesima diciannovesimo/diciannovesima",
  ordinalTens:
    "ventesimo/ventesima trentesimo/trentesima quarantesimo/quarantesima cinquantesimo/cinquantesima sessantesimo/sessantesima settantesimo/settantesima ottantesimo/ottantesima novantesimo/novantesima",
  ambiguous:
    "un uno una due sei otto vent trent cent mille primo prima secondo seconda terza quarto quarta quinta sesto sesta nono nona",
  double: "doppio/doppia",
  triple: "triplo/tripla",
  months:
    "gennaio/genn/gen febbraio/febbr/feb marzo/mar aprile/apr maggio/mag giugno/giu luglio/lug agosto/ago settembre/sett/set ottobre/ott novembre/nov dicembre/dic",
  inDates: "di del il",
  at: "chiocciola/at",
  dot: "punto",
  signs: "trattino lineetta basso underscore barra più meno",
  spellingWords:
    "ancona bari bologna como catania domodossola empoli firenze genova hotel imola jolly jersey kappa livorno milano napoli otranto palermo padova quarto roma savona salerno torino taranto udine venezia verona washington xilofono york zara",
  letterNames: {
    b: "bi",
    c: "ci",
    d: "di",
    f: "effe",
    g: "gi",
    h: "acca",
    j: "i-lunga",
    k: "cappa",
    l: "elle",
    m: "emme",
    n: "enne",
    p: "pi",
    q: "cu",
    r: "erre",
    s: "esse",
    t: "ti",
    v: "vu",
    w: "doppia-vu/vu-doppia",
    x: "ics",
    y: "ipsilon/i-greca",
    z: "zeta"
  },
  spelledAs: "come, di",
  fillers:
    "un uno una e il mio nome è mi chiamo sono la lo numero codice pin indirizzo email mail e data nascita nato nata sì " +
    "allora ecco bene grazie favore maiuscola minuscola",
  leadIns:
    "nostro nostra ho hai credo penso che dunque beh posta elettronica può puoi scrivermi contattarmi a ciao salve " +
    "buongiorno era momento password esatto corretto",
  patience: "un momento, un attimo, un attimino, un secondo, un minuto",
  kinds:
    "telefono cellulare cliente ordine prenotazione postale tutto minuscole maiuscole minuscolo maiuscolo lavoro personale",
  times: {
    hour: "ore ora h",
    half: "mezza mezzo",
    halfOf: "past",
    quarter: "quarto quarti",
    and: "e",
    less: "meno",
    noon: "mezzogiorno",
    midnight: "mezzanotte",
    morning: "mattina mattino",
    later: "pomeriggio sera",
    around: "alle all le del della di",
    minute: "minuti minuto"
  },
  measures: {
    euro: "euro",
    dollar: "dollari dollaro",
    pound: "sterline sterlina",
    cent: "centesimi centesimo",
    kilometer: "chilometri chilometro",
    meter: "metri",
    centimeter: "centimetri centimetro",
    millimeter: "millimetri millimetro",
    mile: "miglia",
    kilogram: "chilogrammi",
    gram: "grammi grammo",
    liter: "litri litro"
  }
}
