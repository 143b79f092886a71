import type { Vocabulary } from "../Vocabulary.ts"

export const finnish: Vocabulary = {
  units: "nolla yksi/yks kaksi/kaks kolme neljä viisi/viis kuusi/kuus seitsemän/seittemän kahdeksan yhdeksän kymmenen",
  tens: "",
  compounds: "tens units",
  compoundsAreOneWord: true,
  hundred: "sata/sataa",
  thousand: "tuhat/tuhatta",
  million: "miljoona/miljoonaa",
  and: "ja",
  timesTen: "kymmentä",
  plusTen: "toista",
  ordinals:
    "ensimmäinen/ensimmäistä/ensimmäisenä toinen/toista/toisena kolmas/kolmatta/kolmantena neljäs/neljättä/neljäntenä viides/viidettä/viidentenä kuudes/kuudetta/kuudentena seitsemäs/seitsemättä/seitsemäntenä kahdeksas/kahdeksatta/kahdeksantena yhdeksäs/yhdeksättä/yhdeksäntenä kymmenes/kymmenettä/kymmenentenä yhdestoista kahdestoista kolmastoista neljästoista viidestoista kuudestoista seitsemästoista kahdeksastoista yhdeksästoista",
  ordinalTens: "kahdeskymmenes kolmaskymmenes",
  ambiguous: "ensimmainen ensimmaista toinen toisena",
  double: "tupla/kaksois",
  triple: "tripla",
  months:
    "tammikuu/tammikuuta helmikuu/helmikuuta maaliskuu/maaliskuuta huhtikuu/huhtikuuta toukokuu/toukokuuta kesäkuu/kesäkuuta heinäkuu/heinäkuuta elokuu/elokuuta syyskuu/syyskuuta lokakuu/lokakuuta marraskuu/marraskuuta joulukuu/joulukuuta",
  weekdayEnding: "na",
  inDates: "vuonna päivänä",
  at: "ät/ät-merkki/miukumauku/miuku/at",
  dot: "piste",
  signs: "viiva väliviiva tavuviiva alaviiva kauttaviiva plus miinus",
  spellingWords:
    "aarne bertta celsius daavid eemeli faarao gideon heikki iivari jussi kalle lauri matti niilo otto paavo risto sakari tyyne urho vihtori wiski yrjö åke äiti öljy",
  letterNames: {
    b: "bee",
    c: "see",
    d: "dee",
    e: "ee",
    f: "äf",
    g: "gee",
    h: "hoo",
    j: "jii",
    k: "koo",
    l: "äl",
    m: "äm",
    n: "än",
    p: "pee",
    q: "kuu",
    r: "är",
    s: "äs",
    t: "tee",
    v: "vee",
    w: "kaksois-vee/tupla-vee",
    x: "äks",
    z: "tset"
  },
  spelledAs: "niin kuin, kuin, kuten",
  fillers:
    "nimeni on minun olen se numero numeroni koodi koodini pin osoite osoitteeni sähköposti email mail e syntymäaika " +
    "syntynyt joo kyllä no eli kiitos",
  leadIns:
    "mun mä niin meidän luulen että sähköpostini sähköpostiosoite sähköpostiosoitteeni minut tavoittaa voit hei moi " +
    "puhelinnumero puhelinnumeroni asiakasnumero tilausnumero varausnumero postinumero salasana oli hetki hetkinen tunnus " +
    "tunnukseni syntymäaikani synnyin oikein",
  patience: "yksi hetki, yksi sekunti",
  kinds: "kaikki pienellä pienillä kirjaimilla työ henkilökohtainen",
  times: {
    hour: "kello klo",
    half: "puoli",
    halfOf: "next",
    quarter: "vartti varttia vartin",
    past: "yli",
    to: "vaille",
    minutes: { 5: "viittä", 10: "kymmentä", 20: "kahtakymmentä", 25: "kahtakymmentäviittä" },
    noon: "keskipäivä keskipäivällä",
    midnight: "keskiyö keskiyöllä",
    morning: "aamulla aamupäivällä",
    later: "iltapäivällä illalla",
    minute: "minuuttia"
  },
  measures: {
    euro: "euroa euro",
    dollar: "dollaria dollari",
    pound: "puntaa",
    franc: "frangia",
    krone: "kruunua",
    cent: "senttiä sentti",
    percent: "prosenttia prosentti",
    kilometer: "kilometriä kilometri",
    meter: "metriä metri",
    centimeter: "senttimetriä senttimetri",
    millimeter: "millimetriä",
    kilogram: "kilogrammaa kiloa",
    gram: "grammaa",
    liter: "litraa litra"
  }
}
