import type { Vocabulary } from "../Vocabulary.ts"

export const polish: Vocabulary = {
  units:
    "zero jeden/jedna/jedno dwa/dwie trzy cztery pięć sześć siedem osiem dziewięć dziesięć jedenaście dwanaście trzynaście czternaście piętnaście szesnaście siedemnaście osiemnaście dziewiętnaście",
  tens: "dwadzieścia trzydzieści czterdzieści pięćdziesiąt sześćdziesiąt siedemdziesiąt osiemdziesiąt dziewięćdziesiąt",
  compounds: "tens units",
  hundred: "sto",
  hundreds: "dwieście trzysta czterysta pięćset sześćset siedemset osiemset dziewięćset",
  thousand: "tysiąc/tysiące/tysięcy",
  million: "milion/miliony/milionów",
  and: "i",
  ordinals:
    "pierwsz drug trzec czwart piąt szóst siódm ósm dziewiąt dziesiąt jedenast dwunast trzynast czternast piętnast szesnast siedemnast osiemnast dziewiętnast",
  ordinalTens:
    "dwudziest trzydziest czterdziest pięćdziesiąt sześćdziesiąt siedemdziesiąt osiemdziesiąt dziewięćdziesiąt",
  ordinalEndings: "y ego a ej ym ą i iego ia iej im e ie",
  ambiguous: "jedna jedno sto pierwszy pierwsza drugi druga drugie",
  double: "podwójne/podwójny/podwójna",
  triple: "potrójne/potrójny/potrójna",
  months:
    "styczeń/stycznia/sty luty/lutego/lut marzec/marca/mar kwiecień/kwietnia/kwi maj/maja czerwiec/czerwca/cze lipiec/lipca/lip sierpień/sierpnia/sie wrzesień/września/wrz październik/października/paź listopad/listopada/lis grudzień/grudnia/gru",
  inDates: "dnia roku r",
  at: "małpa/małpka/at",
  dot: "kropka",
  signs: "myślnik minus kreska łącznik podkreślnik podkreślenie plus ukośnik",
  spellingWords:
    "adam anna barbara bogdan celina dorota ewa felicja franciszek genowefa grażyna henryk irena iza jadwiga jan karol karolina leon łukasz marek maria natalia olga paweł quebec roman rafał stanisław tadeusz urszula wanda wacław violetta xawery ypsylon yeti zofia zygmunt",
  letterNames: {
    c: "ce",
    d: "de",
    f: "ef",
    g: "gie",
    h: "ha",
    j: "jot",
    k: "ka",
    l: "el",
    m: "em",
    n: "en",
    p: "pe",
    q: "ku",
    r: "er",
    s: "es",
    t: "te",
    v: "fał",
    w: "wu",
    x: "iks",
    y: "igrek",
    z: "zet"
  },
  spelledAs: "jak",
  fillers:
    "i mam na imię nazywam się jestem to jest mój moje moja nazwisko numer kod pin adres email mail e data urodzenia " +
    "urodzony urodzona tak no więc proszę dziękuję",
  leadIns:
    "nasz nasza chyba już mówię a urodziłem urodziłam hasło poczta elektroniczna pisać dzień dobry był było chwileczkę " +
    "chwilę zgadza się dokładnie",
  patience: "jeden moment, jedna chwila, jedną chwilę, jedną sekundę",
  kinds: "telefon telefonu klienta zamówienia rezerwacji pocztowy wszystko małymi literami służbowy prywatny",
  times: {
    hour: "godzina godzinie godz",
    half: "wpół pół",
    halfOf: "next",
    quarter: "kwadrans",
    past: "po",
    to: "do",
    before: "za",
    noon: "południe",
    midnight: "północ",
    morning: "rano",
    later: "po-południu popołudniu wieczorem",
    around: "o",
    minute: "minut minuty"
  },
  measures: {
    euro: "euro",
    dollar: "dolarów dolary dolar",
    pound: "funtów funty funt",
    franc: "franków franki",
    zloty: "złotych",
    krone: "koron korony",
    cent: "centów centy",
    grosz: "groszy grosze",
    percent: "procent",
    kilometer: "kilometrów kilometry kilometr",
    meter: "metrów metry metr",
    centimeter: "centymetrów centymetry centymetr",
    millimeter: "milimetrów milimetry milimetr",
    kilogram: "kilogramów kilogramy kilogram",
    gram: "gramów gramy",
    liter: "litrów litry litr"
  }
}
