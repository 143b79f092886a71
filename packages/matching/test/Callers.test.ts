import { describe, expect, it } from "vitest"
import { match } from "../src/Match.ts"

type Answer = readonly [expected: string, actual: string]

/** What callers say who are asked for a date of birth, an order, a plate, a postcode, a phone number, or an amount. */
const answersOf: Readonly<
  Record<string, { readonly same: ReadonlyArray<Answer>; readonly other: ReadonlyArray<Answer> }>
> = {
  English: {
    same: [
      ["1985-07-04", "July fourth eighty-five"],
      ["1985-07-04", "the fourth of July nineteen eighty five"],
      ["1985-07-04", "seven four eighty-five"],
      ["1985-07-04", "oh seven oh four nineteen eighty-five"],
      ["07/04/1985", "4 July '85"],
      ["2001-01-01", "January first two thousand one"],
      ["2001-01-01", "January the first two thousand and one"],
      ["2000-12-31", "December thirty first two thousand"],
      ["2009-10-02", "October second two thousand nine"],
      ["2009-10-02", "October second twenty oh nine"],
      ["ORD-2024-00731", "o r d two zero two four zero zero seven three one"],
      ["+12025550123", "plus one two oh two five five five oh one two three"],
      ["+1 (202) 555-0123", "one two zero two five five five zero one two three"],
      ["+44 7700 900123", "plus four four seven seven double oh nine double oh one two three"],
      ["EC1A 1BB", "e c one a one b b"],
      ["EC1A 1BB", "echo charlie one alpha one bravo bravo"],
      ["AB12 CDE", "alpha bravo one two charlie delta echo"],
      ["AB12 CDE", "a b twelve c d e"],
      ["221B Baker Street, London NW1 6XE", "two twenty one b baker street london n w one six x e"],
      ["0042", "double oh four two"],
      ["4 8 15 16 23 42", "four eight fifteen sixteen twenty three forty two"],
      ["$1,299.99", "twelve ninety nine ninety nine"],
      ["$1,299.99", "one thousand two hundred ninety nine dollars and ninety nine cents"],
      ["$1,299.99", "twelve hundred ninety nine dollars ninety nine"],
      ["ORD-2024-00731", "o r d dash two zero two four dash zero zero seven three one"]
    ],
    other: [
      ["Kim Lee", "Jim Lee"],
      ["1985-07-04", "July fifth nineteen eighty five"],
      ["1985-07-04", "July fourth nineteen eighty six"],
      ["ORD-2024-00731", "o r d two zero two four zero zero seven three two"],
      ["EC1A 1BB", "e c one a one p b"],
      ["AB12 CDE", "a b twelve c d f"],
      ["+44 7700 900123", "oh double seven double oh nine double oh one two three"],
      ["Kim Lee", "Kim Leigh Jones"],
      ["Dana White", "Diana Black"],
      ["1985-07-04", "the fourth of June nineteen eighty five"]
    ]
  },
  German: {
    same: [
      ["12.03.1978", "zwölfter März neunzehnhundertachtundsiebzig"],
      ["12.03.1978", "zwölfter dritter achtundsiebzig"],
      ["12.03.1978", "zwölf null drei achtundsiebzig"],
      ["M-AB 1234", "m a b zwölf vierunddreißig"],
      ["M-AB 1234", "Martha Anton Berta eins zwei drei vier"],
      ["+49 151 23456789", "plus vier neun eins fünf eins zwei drei vier fünf sechs sieben acht neun"],
      ["0049 151 234", "null null neunundvierzig eins fünf eins zwei drei vier"],
      ["80331 München", "achtzig drei einunddreißig München"],
      ["80331", "acht null drei drei eins"],
      ["19,99 €", "neunzehn Euro neunundneunzig"],
      ["19,99 €", "neunzehn Euro und neunundneunzig Cent"],
      ["19,99 €", "neunzehn neunundneunzig"],
      ["HH-AB 12", "h h strich a b zwölf"]
    ],
    other: [
      ["12.03.1978", "dreizehnter März neunzehnhundertachtundsiebzig"],
      ["M-AB 1234", "n a b eins zwei drei vier"]
    ]
  },
  Dutch: {
    same: [
      ["1012 LG", "tien twaalf l g"],
      ["1012 LG", "tien twaalf Lodewijk Gerard"],
      ["12 maart 1978", "twaalf drie negentienachtenzeventig"],
      ["12-03-1978", "twaalf maart achtenzeventig"],
      ["12-03-1978", "twaalf maart negentienhonderdachtenzeventig"],
      ["XX-123-Y", "x x een twee drie y"],
      ["XX-123-Y", "x x een twee drie ypsilon"],
      ["+31 6 12345678", "plus eenendertig zes twaalf vierendertig zesenvijftig achtenzeventig"],
      ["€ 12,50", "twaalf euro vijftig"],
      ["€ 12,50", "twaalf vijftig"]
    ],
    other: [
      ["1012 LG", "tien twaalf l k"],
      ["12-03-1978", "dertien maart achtenzeventig"],
      ["+31 6 12345678", "plus tweeëndertig zes twaalf vierendertig zesenvijftig achtenzeventig"]
    ]
  },
  French: {
    same: [
      ["75011 Paris", "soixante-quinze zéro onze Paris"],
      ["12/03/1978", "douze mars mille neuf cent soixante-dix-huit"],
      ["12/03/1978", "douze zéro trois soixante-dix-huit"],
      ["12/03/1978", "le douze mars soixante-dix-huit"],
      ["12/03/1978", "le douze mars septante-huit"],
      ["AB-123-CD", "a b cent vingt-trois c d"],
      ["+33 6 12 34 56 78", "plus trente-trois six douze trente-quatre cinquante-six soixante-dix-huit"],
      ["+33 1 70 18 90 99", "plus trente-trois un soixante-dix dix-huit quatre-vingt-dix quatre-vingt-dix-neuf"],
      ["99,90 €", "quatre-vingt-dix-neuf euros quatre-vingt-dix"],
      ["AB-123-CD", "a b tiret cent vingt-trois tiret c d"]
    ],
    other: [
      ["12/03/1978", "le douze mai soixante-dix-huit"],
      ["AB-123-CD", "a b cent vingt-trois c b"]
    ]
  },
  Spanish: {
    same: [
      ["12/03/1978", "doce de marzo de mil novecientos setenta y ocho"],
      ["12/03/1978", "doce del tres del setenta y ocho"],
      ["1234 BCD", "doce treinta y cuatro b c d"],
      ["1234 BCD", "uno dos tres cuatro be ce de"],
      [
        "+34 612 345 678",
        "más treinta y cuatro seiscientos doce trescientos cuarenta y cinco seiscientos setenta y ocho"
      ],
      ["28013 Madrid", "veintiocho cero trece Madrid"],
      ["12345678Z", "uno dos tres cuatro cinco seis siete ocho zeta"],
      ["20,50 €", "veinte euros con cincuenta"],
      ["20,50 €", "veinte con cincuenta"]
    ],
    other: [
      ["12/03/1978", "trece de marzo de mil novecientos setenta y ocho"],
      ["1234 BCD", "uno dos tres cuatro be ce te"],
      ["12345678Z", "uno dos tres cuatro cinco seis siete ocho ese"],
      ["20,50 €", "veinte dólares con cincuenta"]
    ]
  },
  Italian: {
    same: [
      ["12/03/1978", "dodici marzo millenovecentosettantotto"],
      ["12/03/1978", "dodici zero tre settantotto"],
      ["AB 123 CD", "a bi uno due tre ci di"],
      ["AB 123 CD", "ancona bologna centoventitré como domodossola"],
      ["+39 333 1234567", "più trentanove tre tre tre uno due tre quattro cinque sei sette"],
      ["00184 Roma", "zero zero uno otto quattro Roma"],
      ["20,50 €", "venti euro e cinquanta centesimi"],
      ["20,50 €", "venti euro e cinquanta"]
    ],
    other: [
      ["AB 123 CD", "ancona bologna centoventitré como empoli"],
      ["Rossi", "Russo"],
      ["AB 123 CD", "a bi uno due tre ci ti"]
    ]
  },
  Portuguese: {
    same: [
      ["12/03/1978", "doze de março de mil novecentos e setenta e oito"],
      ["12/03/1978", "doze do três de setenta e oito"],
      ["AA-12-BB", "a a doze b b"],
      ["+351 912 345 678", "mais três cinco um nove um dois três quatro cinco seis sete oito"],
      ["1100-053 Lisboa", "mil e cem zero cinquenta e três Lisboa"],
      ["20,50 €", "vinte euros e cinquenta"],
      ["20,50 €", "vinte euros e cinquenta cêntimos"],
      ["12 meia 4", "1264"]
    ],
    other: [
      ["AA-12-BB", "a a doze b d"],
      ["12/03/1978", "treze de março de mil novecentos e setenta e oito"],
      ["20,50 €", "vinte euros e quarenta"]
    ]
  },
  Polish: {
    same: [
      ["12.03.1978", "dwunastego marca tysiąc dziewięćset siedemdziesiątego ósmego roku"],
      ["12.03.1978", "dwunasty trzeci siedemdziesiąt osiem"],
      ["WA 12345", "w a dwanaście trzysta czterdzieści pięć"],
      ["WA 12345", "wu a jeden dwa trzy cztery pięć"],
      ["00-950 Warszawa", "zero zero dziewięćset pięćdziesiąt Warszawa"],
      [
        "+48 601 234 567",
        "plus czterdzieści osiem sześćset jeden dwieście trzydzieści cztery pięćset sześćdziesiąt siedem"
      ],
      ["19,99 zł", "dziewiętnaście złotych dziewięćdziesiąt dziewięć groszy"]
    ],
    other: [
      ["12.03.1978", "trzynastego marca tysiąc dziewięćset siedemdziesiątego ósmego"],
      ["19,99 zł", "dziewiętnaście euro dziewięćdziesiąt dziewięć"]
    ]
  },
  Swedish: {
    same: [
      ["780312-1234", "sjuttioåtta noll tre tolv tolv trettiofyra"],
      ["1978-03-12", "tolfte mars nittonhundrasjuttioåtta"],
      ["1978-03-12", "tolfte i tredje sjuttioåtta"],
      ["ABC 123", "adam bertil caesar ett två tre"],
      ["114 55 Stockholm", "ett ett fyra femtiofem Stockholm"],
      ["+46 70 123 45 67", "plus fyrtiosex sjuttio ett två tre fyrtiofem sextiosju"],
      ["99,50 kr", "nittionio kronor och femtio öre"],
      ["+46 71 23 45 67", "plus fyrtiosex sjuttioett två tre fyrtiofem sextiosju"]
    ],
    other: [
      ["ABC 123", "adam bertil caesar ett två fyra"],
      ["+46 70 123 45 67", "plus fyrtiosex sjuttioett två tre fyrtiofem sextiosju"],
      ["70 1", "sjuttio ett"],
      ["114 55 Stockholm", "ett ett fyra femtiosex Stockholm"]
    ]
  },
  Danish: {
    same: [
      ["12.3.1978", "den tolvte marts nittenhundredeotteoghalvfjerds"],
      ["12.3.1978", "tolvte i tredje otteoghalvfjerds"],
      ["120378-1234", "tolv nul tre otteoghalvfjerds tolv fireogtredive"],
      ["AB 12 345", "a b tolv tre hundrede femogfyrre"],
      ["2100 København Ø", "enogtyve hundrede København ø"],
      ["+45 12 34 56 78", "plus femogfyrre tolv fireogtredive seksoghalvtreds otteoghalvfjerds"],
      ["99,50 kr", "nioghalvfems kroner og halvtreds øre"]
    ],
    other: [
      ["12.3.1978", "den tolvte maj nittenhundredeotteoghalvfjerds"],
      ["AB 12 345", "a b tolv tre hundrede femoghalvtreds"]
    ]
  },
  Norwegian: {
    same: [
      ["12.03.1978", "tolvte mars nittensyttiåtte"],
      ["12.03.1978", "tolvte i tredje syttiåtte"],
      ["EL 12345", "e l en to tre fire fem"],
      ["0155 Oslo", "null én femtifem Oslo"],
      ["+47 912 34 567", "pluss førtisju ni en to tre fire fem seks sju"],
      ["99,50 kr", "nittini kroner og femti øre"]
    ],
    other: [
      ["12.03.1978", "tolvte mars nittensyttini"],
      ["EL 12345", "e l en to tre fire seks"]
    ]
  },
  Finnish: {
    same: [
      ["12.3.1978", "kahdestoista maaliskuuta tuhat yhdeksänsataa seitsemänkymmentäkahdeksan"],
      ["12.3.1978", "kahdestoista kolmatta seitsemänkymmentäkahdeksan"],
      ["ABC-123", "aarne bertta celsius yksi kaksi kolme"],
      ["ABC-123", "a b c sata kaksikymmentäkolme"],
      ["00100 Helsinki", "nolla nolla sata Helsinki"],
      ["+358 40 123 4567", "plus kolme viisi kahdeksan neljäkymmentä yksi kaksi kolme neljä viisi kuusi seitsemän"],
      ["5,50 €", "viisi euroa viisikymmentä"],
      ["5,50 €", "viisi viisikymmentä"]
    ],
    other: [
      ["12.3.1978", "kolmastoista maaliskuuta tuhat yhdeksänsataa seitsemänkymmentäkahdeksan"],
      ["ABC-123", "a b d sata kaksikymmentäkolme"]
    ]
  }
}

const scoreOf = (expected: string, actual: string): number => match(expected, actual, 0.8).score

describe("Answers of callers who are verified", () => {
  it.each(Object.entries(answersOf))("are told apart in %s", (_language, { other, same }) => {
    expect(same.filter(([expected, actual]) => scoreOf(expected, actual) < 1)).toEqual([])
    expect(same.filter(([expected, actual]) => scoreOf(actual, expected) < 1)).toEqual([])
    expect(other.filter(([expected, actual]) => match(expected, actual, 0.8).match)).toEqual([])
    expect(other.filter(([expected, actual]) => match(actual, expected, 0.8).match)).toEqual([])
  })

  it("match by names that sound alike or differ by a letter of many, as far as the threshold allows", () => {
    const alike: ReadonlyArray<Answer> = [
      ["Jon Smith", "my name is John Smith"],
      ["Ann Lee", "it's Anne Lee"],
      ["Sean O'Connor", "Shawn O'Connor"],
      ["Mary-Anne Clarke", "mary ann clark"],
      ["Schmidt", "Schmitt"],
      ["Hans Müller", "Hans Möller"],
      ["Jansen", "Janssen"],
      ["Lefèvre", "Lefebvre"],
      ["González", "Gonzales"],
      ["Kowalska", "Kowalski"]
    ]
    expect(alike.filter(([one, other]) => !match(one, other, 0.8).match)).toEqual([])
    expect(alike.filter(([one, other]) => match(one, other, 1).match)).toEqual([])
  })
})
