import type { Vocabulary } from "../Vocabulary.ts"

export const spanish: Vocabulary = {
  units:
    "cero un/uno/una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve",
  tens: "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
  compounds: "tens and units",
  others: {
    21: "veintiuno/veintiún/veintiuna",
    22: "veintidós",
    23: "veintitrés",
    24: "veinticuatro",
    25: "veinticinco",
    26: "veintiséis",
    27: "veintisiete",
    28: "veintiocho",
    29: "veintinueve"
  },
  hundred: "cien/ciento",
  hundreds:
    "doscientos/doscientas trescientos/trescientas cuatrocientos/cuatrocientas quinientos/quinientas seiscientos/seiscientas setecientos/setecientas ochocientos/ochocientas novecientos/novecientas",
  thousand: "mil",
  million: "millón/millones",
  and: "y",
  ordinals:
    "primero/primer/primera segundo/segunda tercero/tercer/tercera cuarto/cuarta quinto/quinta sexto/sexta séptimo/séptima octavo/octava noveno/novena décimo/décima undécimo/undécima duodécimo/duodécima decimotercero/decimotercera decimocuarto/decimocuarta decimoquinto/decimoquinta decimosexto/decimosexta decimoséptimo/decimoséptima decimoctavo/decimoctava decimonoveno/decimonovena",
  ordinalTens: "vigésimo/vigésima trigésimo/trigésima",
  ambiguous: "un uno una once mil primero primer primera segundo segunda cuarto quinta",
  double: "doble",
  triple: "triple",
  months:
    "enero/ene febrero/feb marzo abril/abr mayo junio/jun julio/jul agosto/ago septiembre/setiembre/sep octubre/oct noviembre/nov diciembre/dic",
  inDates: "de del el",
  at: "arroba",
  dot: "punto",
  signs: "guión guion bajo raya barra más menos subrayado",
  spellingWords:
    "antonio barcelona bilbao carmen dolores dinamarca enrique españa francia francisco gerona granada historia inés italia josé jaén kilo lorenzo lugo madrid méxico navarra oviedo parís portugal querido ramón roma sábado sevilla tarragona toledo ulises uruguay valencia washington xiquena yegua yolanda zaragoza",
  letterNames: {
    b: "be",
    c: "ce",
    d: "de",
    f: "efe",
    g: "ge",
    h: "hache",
    j: "jota",
    k: "ka",
    l: "ele",
    m: "eme",
    n: "ene",
    p: "pe",
    q: "cu",
    r: "erre/ere",
    s: "ese",
    t: "te",
    v: "uve/ve",
    w: "uve-doble/doble-u/doble-ve",
    x: "equis",
    y: "ye/i-griega",
    z: "zeta"
  },
  spelledAs: "de, como, como en",
  fillers:
    "un una y mi nombre es me llamo soy el la lo número código pin dirección correo email mail e fecha nacimiento nací sí " +
    "pues bueno vale gracias favor habla mayúscula minúscula",
  leadIns:
    "nuestro nuestra tengo creo que a ver ya bien clave contraseña electrónico puede puedes contactarme escribir " +
    "escribirme enviar en hola era fue momento digo yo está correcto exacto",
  patience: "un momento, un momentito, un segundo, un minuto, un instante",
  kinds: "teléfono móvil cliente pedido reserva postal todo minúsculas mayúsculas trabajo personal",
  times: {
    hour: "horas hora h",
    half: "media",
    halfOf: "past",
    quarter: "cuarto",
    to: "para",
    and: "y",
    less: "menos",
    noon: "mediodía",
    midnight: "medianoche",
    morning: "mañana madrugada",
    later: "tarde noche",
    around: "a la las de en punto",
    minute: "minutos minuto"
  },
  measures: {
    euro: "euros euro",
    dollar: "dólares dólar",
    pound: "libras",
    cent: "céntimos céntimo centavos",
    kilometer: "kilómetros kilómetro",
    meter: "metros",
    centimeter: "centímetros centímetro",
    millimeter: "milímetros milímetro",
    kilogram: "kilogramos kilos",
    gram: "gramos gramo",
    liter: "litros litro"
  }
}
