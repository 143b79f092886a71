import type { Language } from "@svc/api/agents/Language"

/** An expected answer and what was said. */
type Answer = readonly [expected: string, actual: string]

/** Answers in a language: those that match, and those that do not. */
export interface Answers {
  readonly match: ReadonlyArray<Answer>
  readonly differ: ReadonlyArray<Answer>
}

/** Answers as callers give them. */
export const answersOf: Readonly<Record<Language, Answers>> = {
  "en-US": {
    match: [
      ["John Smith", "my name is John Smith"],
      ["John Smith", "Smith, John"],
      ["Katherine O'Brien", "catherine o brien"],
      ["03/05/2024", "March fifth, twenty twenty-four"],
      ["May 3, 1984", "the third of May nineteen eighty-four"],
      ["555-0142", "five five five oh one four two"],
      ["4471", "double four seven one"],
      ["2222", "triple two two"],
      ["2,345", "two thousand three hundred forty-five"],
      ["1600 Pennsylvania Avenue", "sixteen hundred Pennsylvania avenue"],
      ["5th Avenue", "fifth avenue"],
      ["AB12", "a as in apple b as in boy one two"],
      ["john.smith@example.com", "it's John dot Smith at example dot com"],
      ["XW7", "x-ray whiskey seven"],
      ["90210", "nine oh two one oh"],
      ["12 Main Street, 90210 Beverly Hills", "Beverly Hills nine oh two one oh twelve Main Street"],
      ["KLM 1023 NO", "k l m one zero two three n o"],
      ["4OB", "four o b"],
      ["Ben", "my name is Ben"],
      ["Jansen", "my name is Jansen, that's j a n s e n"],
      ["1990-05-03", "thursday the third of may nineteen ninety"],
      ["1,000,000", "one million"],
      ["1234", "my code is one two three four, thank you"],
      ["anna@example.com", "that would be Anna at example dot com, thanks"],
      ["John Smith", "yes, this is John Smith speaking"]
    ],
    differ: [
      ["John Smith", "John Jones"],
      ["John Smith", "John"],
      ["Bob Smith", "Rob Smith"],
      ["1234", "one two three five"],
      ["1234", "one two three"],
      ["03/05/2024", "March sixth, twenty twenty-four"],
      ["10 am", "ten pm"],
      ["AB12", "a as in apple c as in cat one two"],
      ["4OB", "four o c"],
      ["Ben", "my name is Jan"],
      ["Monday", "Tuesday"],
      ["1,000,000", "two million"]
    ]
  },
  "en-GB": {
    match: [
      ["SW1A 1AA", "s w one a one a a"],
      ["12/10/1990", "the twelfth of October nineteen ninety"],
      ["105", "one hundred and five"],
      ["07700 900123", "oh double seven double oh nine double oh one two three"],
      ["0044", "nought nought four four"],
      ["zed", "Zed"],
      ["WZ", "double u zed"],
      ["14 High Street, 2 Lane End", "Lane End two fourteen High Street"]
    ],
    differ: [
      ["SW1A 1AA", "s w one a one a b"],
      ["12/10/1990", "the twelfth of November nineteen ninety"],
      ["07700 900123", "oh double seven oh nine double oh one two three"]
    ]
  },
  "es-ES": {
    match: [
      ["Carlos Ruiz", "soy Carlos Ruiz, gracias"],
      ["José García", "me llamo jose garcia"],
      ["23", "veintitrés"],
      ["45", "cuarenta y cinco"],
      ["1984", "mil novecientos ochenta y cuatro"],
      ["612 345 678", "seis uno dos, tres cuatro cinco, seis siete ocho"],
      ["3/5/2024", "el tres de mayo de dos mil veinticuatro"],
      ["1-6-1975", "primero de junio de mil novecientos setenta y cinco"],
      ["ana.lopez@ejemplo.es", "ana punto lopez arroba ejemplo punto es"],
      ["BM", "b de Barcelona m de Madrid"],
      ["Muñoz", "Munoz"],
      ["Calle Mayor 12, 28013 Madrid", "Madrid dos ocho cero uno tres calle Mayor doce"],
      ["2024-05-04", "sábado cuatro de mayo de dos mil veinticuatro"],
      ["1000000", "un millón"]
    ],
    differ: [
      ["45", "cuarenta y seis"],
      ["3/5/2024", "el cuatro de mayo de dos mil veinticuatro"],
      ["García", "Martínez"],
      ["BM", "b de Barcelona n de Navarra"]
    ]
  },
  "nl-NL": {
    match: [
      ["jan@voorbeeld.nl", "mijn mailadres is jan apenstaartje voorbeeld punt nl, dank je wel"],
      ["Jan Jansen", "u spreekt met Jan Jansen"],
      ["Jan de Vries", "mijn naam is Jan de Vries"],
      ["van der Berg", "Vanderberg"],
      ["23", "drieëntwintig"],
      ["28", "acht en twintig"],
      ["1984", "negentienhonderdvierentachtig"],
      ["2024", "tweeduizend vierentwintig"],
      ["1011 AB", "tien elf a b"],
      ["06 12345678", "nul zes een twee drie vier vijf zes zeven acht"],
      ["3-5-2024", "drie mei tweeduizendvierentwintig"],
      ["21-03-1990", "eenentwintig maart negentien negentig"],
      ["piet@voorbeeld.nl", "piet apenstaartje voorbeeld punt nl"],
      ["AP44", "a van Anton p van Pieter dubbel vier"],
      ["Dorpsstraat 5, 1011 AB Amsterdam", "Amsterdam tien elf AB Dorpsstraat vijf"],
      ["3816 LE", "drie acht een zes l e"],
      ["De Vries", "d e v r i e s"],
      ["Ben", "ik ben Ben"],
      ["2024-05-03", "vrijdag drie mei tweeduizend vierentwintig"],
      ["2000000", "twee miljoen"]
    ],
    differ: [
      ["23", "tweeëndertig"],
      ["1011 AB", "tien elf a c"],
      ["3816 LE", "drie acht een zes l a"],
      ["06 12345678", "nul zes een twee drie vier vijf zes zeven negen"],
      ["3-5-2024", "drie mei tweeduizenddrieëntwintig"],
      ["de Vries", "de Boer"]
    ]
  },
  "de-DE": {
    match: [
      ["anna@beispiel.de", "anna ät beispiel punkt de, vielen Dank"],
      ["Anna Meier", "hier spricht Anna Meier"],
      ["Müller", "Mueller"],
      ["Straße", "Strasse"],
      ["Jürgen Groß", "ich heiße Juergen Gross"],
      ["21", "einundzwanzig"],
      ["1984", "neunzehnhundertvierundachtzig"],
      ["2024", "zweitausendvierundzwanzig"],
      ["0151", "null eins fünf eins"],
      ["22", "zwo zwo"],
      ["3.5.2024", "der dritte Mai zweitausendvierundzwanzig"],
      ["21. März 1990", "am einundzwanzigsten März neunzehnhundertneunzig"],
      ["hans@beispiel.de", "Hans at Beispiel Punkt de"],
      ["B7", "B wie Berta sieben"],
      ["BMW", "Berta Martha Wilhelm"],
      ["Meyer", "Maier"],
      ["Hauptstraße 12, 10115 Berlin", "Berlin eins null eins eins fünf Hauptstraße zwölf"],
      ["Ben", "ich bin Ben"],
      ["info@firma.de", "info at firma punkt d e"],
      ["2024-05-03", "Freitag, der dritte Mai 2024"],
      ["2000000", "zwei Millionen"]
    ],
    differ: [
      ["21", "zwölf"],
      ["54", "fünfundvierzig"],
      ["3.5.2024", "der dritte Juni zweitausendvierundzwanzig"],
      ["B7", "D wie Dora sieben"],
      ["Schmidt", "Schneider"]
    ]
  },
  "fr-FR": {
    match: [
      ["Anne Martin", "Anne Martin, s'il vous plaît, merci"],
      ["Hélène Lefèvre", "je m'appelle helene lefevre"],
      ["97", "quatre-vingt-dix-sept"],
      ["71", "soixante et onze"],
      ["80", "quatre vingts"],
      ["97", "nonante-sept"],
      ["1984", "mille neuf cent quatre-vingt-quatre"],
      ["06 12 34 56", "zéro six douze trente-quatre cinquante-six"],
      ["600", "six cents"],
      ["01/05/2024", "le premier mai deux mille vingt-quatre"],
      ["14 juillet 1989", "quatorze juillet mille neuf cent quatre-vingt-neuf"],
      ["luc.petit@exemple.fr", "luc point petit arobase exemple point fr"],
      ["B12", "b comme Berthe douze"],
      ["12 rue de Lyon, 75012 Paris", "Paris sept cinq zéro un deux, douze rue de Lyon"],
      ["2024-05-03", "vendredi trois mai deux mille vingt-quatre"],
      ["2000000", "deux millions"]
    ],
    differ: [
      ["97", "quatre-vingt-seize"],
      ["60", "soixante-dix"],
      ["06 12 34 56", "zéro six douze trente-quatre cinquante-sept"],
      ["14 juillet 1989", "quatorze juin mille neuf cent quatre-vingt-neuf"],
      ["Dupont", "Durand"]
    ]
  },
  "it-IT": {
    match: [
      ["Mario Rossi", "Mario Rossi, per favore, grazie"],
      ["Niccolò Rossi", "mi chiamo niccolo rossi"],
      ["21", "ventuno"],
      ["88", "ottantotto"],
      ["1984", "millenovecentottantaquattro"],
      ["2024", "duemilaventiquattro"],
      ["632", "sei tre due"],
      ["3/5/2024", "tre maggio duemilaventiquattro"],
      ["1/12/1970", "primo dicembre millenovecentosettanta"],
      ["anna@esempio.it", "anna chiocciola esempio punto it"],
      ["DM5", "d come Domodossola m come Milano cinque"],
      ["26", "ventiseiesimo"],
      ["Via 31 Gennaio", "via trentunesima gennaio"],
      ["Via Roma 12, 20121 Milano", "Milano due zero uno due uno, via Roma dodici"],
      ["1988-01-09", "9 gen 1988"],
      ["2024-05-03", "venerdi tre maggio duemilaventiquattro"],
      ["2000000", "due milioni"],
      ["Otto", "o t t o"]
    ],
    differ: [
      ["21", "ventidue"],
      ["632", "sei due tre"],
      ["3/5/2024", "tre marzo duemilaventiquattro"],
      ["9 gen 1988", "9 giu 1988"],
      ["Rossi", "Bianchi"]
    ]
  },
  "pt-PT": {
    match: [
      ["Ana Silva", "Ana Silva, obrigada"],
      ["João Gonçalves", "o meu nome é joao goncalves"],
      ["23", "vinte e três"],
      ["16", "dezasseis"],
      ["16", "dezesseis"],
      ["1984", "mil novecentos e oitenta e quatro"],
      ["912", "nove um dois"],
      ["3/5/2024", "três de maio de dois mil e vinte e quatro"],
      ["rui@exemplo.pt", "rui arroba exemplo ponto pt"],
      ["LB", "l de Lisboa b de Braga"],
      ["Rua Augusta 12, 1100 Lisboa", "Lisboa um um zero zero rua Augusta doze"],
      ["2004-09-13", "segunda-feira, 13 de setembro de 2004"],
      ["2004-09-14", "terça-feira catorze de setembro de dois mil e quatro"],
      ["2004-09-15", "quarta, 15 de setembro de 2004"],
      ["2000000", "dois milhões"]
    ],
    differ: [
      ["23", "trinta e dois"],
      ["912", "nove um três"],
      ["3/5/2024", "quatro de maio de dois mil e vinte e quatro"],
      ["Gonçalves", "Ferreira"],
      ["segunda-feira", "quarta-feira"],
      ["2004-09-13", "segunda-feira, 14 de setembro de 2004"],
      ["Rua Segunda 3, maio 2024", "Rua Quarta 3, maio 2024"],
      ["Rua Segunda, Friday 3 maio 2024", "Rua Quarta, Friday 3 maio 2024"]
    ]
  },
  "pl-PL": {
    match: [
      ["Anna Nowak", "Anna Nowak, dziękuję"],
      ["Łukasz Wójcik", "nazywam się lukasz wojcik"],
      ["23", "dwadzieścia trzy"],
      ["555", "pięćset pięćdziesiąt pięć"],
      ["1984", "tysiąc dziewięćset osiemdziesiąt cztery"],
      ["601", "sześć zero jeden"],
      ["3.05.2024", "trzeciego maja dwa tysiące dwudziestego czwartego roku"],
      ["jan@przyklad.pl", "jan małpa przykład kropka pl"],
      ["BW", "b jak Barbara w jak Wanda"],
      ["Polna 12, 00-950 Warszawa", "Warszawa zero zero dziewięć pięć zero Polna dwanaście"],
      ["1979-01-05", "5 sty 1979"],
      ["3.05.2024", "piątek, trzeciego maja dwa tysiące dwudziestego czwartego roku"],
      ["5000000", "pięć milionów"]
    ],
    differ: [
      ["23", "dwadzieścia dwa"],
      ["601", "sześć zero dwa"],
      ["3.05.2024", "czwartego maja dwa tysiące dwudziestego czwartego roku"],
      ["Wójcik", "Kowalski"],
      ["5 sty 1979", "5 lut 1979"]
    ]
  },
  "sv-SE": {
    match: [
      ["Åsa Sjöberg", "jag heter Asa Sjoberg"],
      ["23", "tjugotre"],
      ["1984", "nittonhundraåttiofyra"],
      ["2024", "tvåtusentjugofyra"],
      ["0701", "noll sju noll ett"],
      ["3 maj 2024", "den tredje maj tvåtusentjugofyra"],
      ["21/3 1990", "21/3 1990"],
      ["eva@exempel.se", "eva snabel-a exempel punkt se"],
      ["AB7", "Adam Bertil sju"],
      ["Storgatan 12, 11122 Stockholm", "Stockholm ett ett ett två två Storgatan tolv"],
      ["2024-05-04", "lordag den fjärde maj tvåtusentjugofyra"],
      ["2000000", "två miljoner"]
    ],
    differ: [
      ["23", "trettiotvå"],
      ["0701", "noll sju noll två"],
      ["3 maj 2024", "den fjärde maj tvåtusentjugofyra"],
      ["Sjöberg", "Lindström"]
    ]
  },
  "da-DK": {
    match: [
      ["Søren Kjær", "jeg hedder Soeren Kjaer"],
      ["Aarhus", "Århus"],
      ["23", "treogtyve"],
      ["57", "syvoghalvtreds"],
      ["95", "fem og halvfems"],
      ["60", "tres"],
      ["1984", "nittenhundredefireogfirs"],
      ["42", "fire to"],
      ["3. maj 2024", "den tredje maj totusindfireogtyve"],
      ["bo@eksempel.dk", "bo snabel-a eksempel punktum dk"],
      ["SØ", "Søren Østen"],
      ["Vestergade 12, 8000 Aarhus", "Aarhus otte nul nul nul Vestergade tolv"],
      ["3. maj 2024", "fredag den tredje maj totusindfireogtyve"],
      ["2000000", "to millioner"]
    ],
    differ: [
      ["23", "toogtredive"],
      ["42", "to fire"],
      ["Vestergade fire", "Vestergade to"],
      ["Vestergade fire", "Vestergade"],
      ["3. maj 2024", "den tredje maj totusindtreogtyve"]
    ]
  },
  "nb-NO": {
    match: [
      ["Øyvind Bjørnstad", "jeg heter Oyvind Bjornstad"],
      ["Håkon", "Haakon"],
      ["23", "tjuetre"],
      ["23", "treogtyve"],
      ["1984", "nittenåttifire"],
      ["77", "syttisju"],
      ["40 30", "førti tretti"],
      ["17. mai 1990", "syttende mai nittennitti"],
      ["kari@eksempel.no", "kari krøllalfa eksempel punktum no"],
      ["Storgata 12, 0155 Oslo", "Oslo null en fem fem Storgata tolv"],
      ["17. mai 1990", "torsdag syttende mai nittennitti"],
      ["1000000", "en million"]
    ],
    differ: [
      ["23", "trettito"],
      ["40 30", "førti tretten"],
      ["17. mai 1990", "sekstende mai nittennitti"],
      ["Bjørnstad", "Haugen"]
    ]
  },
  "fi-FI": {
    match: [
      ["Anna Virtanen", "Anna Virtanen, kiitos"],
      ["Päivi Mäkelä", "nimeni on Paivi Makela"],
      ["23", "kaksikymmentäkolme"],
      ["23", "kaksi kymmentä kolme"],
      ["15", "viisitoista"],
      ["1984", "tuhatyhdeksänsataakahdeksankymmentäneljä"],
      ["0401", "nolla neljä nolla yksi"],
      ["3.5.2024", "kolmas toukokuuta kaksituhattakaksikymmentäneljä"],
      ["aino@esimerkki.fi", "aino ät esimerkki piste fi"],
      ["KM", "k niin kuin Kalle m niin kuin Matti"],
      ["Mannerheimintie 12, 00100 Helsinki", "Helsinki nolla nolla yksi nolla nolla Mannerheimintie kaksitoista"],
      ["3.5.2024", "perjantaina kolmas toukokuuta kaksituhattakaksikymmentäneljä"],
      ["2000000", "kaksi miljoonaa"]
    ],
    differ: [
      ["23", "kolmekymmentäkaksi"],
      ["0401", "nolla neljä nolla kaksi"],
      ["3.5.2024", "neljäs toukokuuta kaksituhattakaksikymmentäneljä"],
      ["Mäkelä", "Virtanen"]
    ]
  }
}
