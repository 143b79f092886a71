import type { Vocabulary } from "../Vocabulary.ts"

export const portuguese: Vocabulary = {
  units:
    "zero um/uma dois/duas três quatro cinco seis/meia sete oito nove dez onze doze treze quatorze/catorze quinze dezasseis/dezesseis dezassete/dezessete dezoito dezanove/dezenove",
  tens: "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
  compounds: "tens and units",
  hundred: "cem/cento",
  hundreds:
    "duzentos/duzentas trezentos/trezentas quatrocentos/quatrocentas quinhentos/quinhentas seiscentos/seiscentas setecentos/setecentas oitocentos/oitocentas novecentos/novecentas",
  thousand: "mil",
  million: "milhão/milhões",
  and: "e",
  ordinals:
    "primeiro/primeira segundo/segunda terceiro/terceira quarto/quarta quinto/quinta sexto/sexta sétimo/sétima oitavo/oitava nono/nona décimo/décima",
  ordinalTens: "vigésimo/vigésima trigésimo/trigésima",
  ambiguous: "um uma meia onze doze mil primeiro primeira segundo segunda quarto quarta quinta sexta nono nona cem",
  double: "duplo/dobro",
  triple: "triplo",
  months:
    "janeiro/jan fevereiro/fev março abril/abr maio junho/jun julho/jul agosto/ago setembro/set outubro/out novembro/nov dezembro/dez",
  inDates: "de do o",
  at: "arroba",
  dot: "ponto",
  signs: "hífen traço sublinhado underline underscore barra mais menos",
  spellingWords:
    "aveiro américa braga coimbra dafundo évora faro guarda horta itália josé kodak lisboa maria nazaré ovar porto queluz rossio setúbal tavira unidade vidago waldemar xavier york zulmira",
  letterNames: {
    b: "bê",
    c: "cê",
    d: "dê",
    f: "efe",
    g: "gê",
    h: "agá",
    j: "jota",
    k: "capa",
    l: "ele",
    m: "eme",
    n: "ene",
    p: "pê",
    q: "quê",
    r: "erre",
    s: "esse",
    t: "tê",
    v: "vê",
    w: "dáblio",
    x: "xis",
    y: "ípsilon",
    z: "zê"
  },
  spelledAs: "de, como",
  fillers:
    "um uma e o meu nome é chamo me sou a número código pin morada endereço email mail e data nascimento nasci sim então " +
    "bem obrigado obrigada favor maiúscula minúscula",
  leadIns:
    "nosso nossa tenho acho que eu olha pois senha minha correio eletrónico eletrônico pode podes contactar escrever " +
    "enviar para olá era foi momento certo correto exato",
  patience: "um momento, um momentinho, um instante, um segundo, um minuto",
  kinds: "telefone telemóvel celular cliente pedido reserva postal tudo minúsculas maiúsculas trabalho pessoal",
  times: {
    hour: "horas hora h",
    half: "meia",
    halfOf: "past",
    quarter: "quarto",
    to: "para",
    and: "e",
    less: "menos",
    noon: "meio-dia",
    midnight: "meia-noite",
    morning: "manhã madrugada",
    later: "tarde noite",
    around: "às as à a da",
    minute: "minutos minuto"
  },
  measures: {
    euro: "euros euro",
    dollar: "dólares dólar",
    pound: "libras",
    krone: "coroas",
    cent: "cêntimos cêntimo centavos",
    kilometer: "quilómetros quilómetro quilômetros quilômetro",
    meter: "metros",
    centimeter: "centímetros centímetro",
    millimeter: "milímetros milímetro",
    mile: "milhas",
    kilogram: "quilogramas quilos",
    gram: "gramas",
    liter: "litros litro"
  }
}
