import { execFileSync } from "node:child_process"
import { Resampler } from "@svc/audio/Resampler"
import { activeRms, atLevel, concat, type Random, type Signal, sampleRate, seeded } from "@svc/audio/testing/Signal"
import type { Utterance } from "@svc/audio/testing/SpeechTrack"

/** Speech in many languages by espeak-ng (GPL, https://github.com/espeak-ng/espeak-ng), which must be on the PATH. */

const lines: Readonly<Record<string, ReadonlyArray<string>>> = {
  "en-us": [
    "Hello, I would like to change my appointment on Thursday.",
    "Yes.",
    "No, wait, that is not what I meant.",
    "My number is four seven one, two two nine."
  ],
  de: [
    "Guten Tag, ich möchte meinen Termin verschieben.",
    "Ja, genau.",
    "Nein, das habe ich so nicht gesagt.",
    "Können Sie das bitte wiederholen?"
  ],
  "fr-fr": [
    "Bonjour, je voudrais parler à quelqu'un du service client.",
    "Oui.",
    "Non, ce n'est pas ce que je voulais dire.",
    "Pouvez-vous répéter, s'il vous plaît?"
  ],
  es: [
    "Buenos días, quisiera cambiar la hora de mi cita.",
    "Sí, claro.",
    "No, espere un momento, por favor.",
    "Mi número es cuatro siete uno dos."
  ],
  it: [
    "Buongiorno, vorrei sapere quando arriva il mio ordine.",
    "Certo.",
    "Aspetti, non è questo che volevo dire.",
    "Può ripetere, per favore?"
  ],
  pl: [
    "Dzień dobry, chciałbym zmienić termin wizyty.",
    "Tak.",
    "Nie, proszę chwilę poczekać.",
    "Czy może pan powtórzyć?"
  ],
  ru: [
    "Здравствуйте, я хотел бы перенести встречу.",
    "Да.",
    "Нет, подождите, пожалуйста.",
    "Повторите ещё раз, пожалуйста."
  ],
  tr: [
    "Merhaba, randevumu değiştirmek istiyorum.",
    "Evet.",
    "Hayır, bir dakika bekleyin lütfen.",
    "Tekrar eder misiniz?"
  ]
}

const secondLines: Readonly<Record<string, ReadonlyArray<string>>> = {
  nl: ["Goedemiddag, ik bel over mijn bestelling van vorige week.", "Ja hoor.", "Nee, dat bedoel ik niet."],
  "pt-br": ["Boa tarde, eu queria remarcar a minha consulta.", "Sim.", "Não, espere um pouco, por favor."],
  sv: ["Hej, jag skulle vilja ändra min tid på torsdag.", "Ja, precis.", "Nej, vänta lite är du snäll."],
  cs: ["Dobrý den, chtěl bych změnit termín schůzky.", "Ano.", "Ne, počkejte prosím chvíli."],
  hu: ["Jó napot, szeretném módosítani az időpontomat.", "Igen.", "Nem, várjon egy kicsit."],
  id: ["Selamat siang, saya ingin mengubah janji saya.", "Ya.", "Bukan, tunggu sebentar."]
}

const heldOutLines: Readonly<Record<string, ReadonlyArray<string>>> = {
  fi: ["Hei, haluaisin siirtää aikani perjantaille.", "Joo.", "Ei, odottakaa hetki."],
  ro: ["Bună ziua, sun în legătură cu factura de luna trecută.", "Da, sigur.", "Nu, nu la asta mă refeream."],
  el: ["Καλημέρα, θα ήθελα να αλλάξω το ραντεβού μου.", "Ναι.", "Όχι, περιμένετε ένα λεπτό."],
  da: ["Goddag, jeg vil gerne flytte min tid til onsdag.", "Ja tak.", "Nej, det var ikke det, jeg mente."],
  hi: ["नमस्ते, मैं अपने ऑर्डर के बारे में पूछना चाहता हूँ।", "हाँ।", "नहीं, एक मिनट रुकिए।"],
  sw: ["Habari, ningependa kubadilisha miadi yangu.", "Ndiyo.", "Hapana, subiri kidogo tafadhali."]
}

const agentLines = [
  "Thank you for calling. I can help you with orders, invoices and appointments. Please tell me in a few words what this is about.",
  "Your order left our warehouse yesterday in the evening, and it should arrive at your address on Thursday between nine and twelve.",
  "I have found two free appointments: Monday at ten fifteen, or Wednesday at half past three in the afternoon. Which one do you prefer?",
  "Unfortunately I cannot see this invoice. Could you please read me the number at the top right of the letter, digit by digit?",
  "All right. I have noted that. Is there anything else that I can do for you today?"
]

const secondAgentLines = [
  "Good evening, this is the reservation desk. For how many people and for which day would you like to book a table with us?",
  "The next train to the airport leaves at seventeen minutes past six from platform four, and it takes about half an hour.",
  "I am sorry, there is nothing left on Saturday. Shall I put you on the list, in case somebody cancels before noon?"
]

const heldOutAgentLines = [
  "You have reached the library. Two of the books that you borrowed are due on Friday, and one has been reserved by another reader.",
  "Let me read that back to you: a medium pizza with olives, no onions, and a bottle of water, to be picked up at half past seven.",
  "The technician can come on the ninth or on the twelfth. He will call you about twenty minutes before he arrives."
]

/** A second-order high pass at 200 Hz: a handset carries little below. */
const handset = (signal: Signal): Signal => {
  const w = Math.tan((Math.PI * 200) / sampleRate)
  const scale = 1 / (1 + Math.SQRT2 * w + w * w)
  const [a1, a2] = [2 * (w * w - 1) * scale, (1 - Math.SQRT2 * w + w * w) * scale]
  let [x1, x2, y1, y2] = [0, 0, 0, 0]
  return signal.map((x) => {
    const y = scale * (x - 2 * x1 + x2) - a1 * y1 - a2 * y2
    ;[x2, x1, y2, y1] = [x1, x, y1, y]
    return y
  })
}

/** One text by one voice, in words per minute, at `to` Hz. */
const synthesize = (voice: string, text: string, speed: number, to: number): Signal => {
  const wav = execFileSync("espeak-ng", ["-v", voice, "-s", String(speed), "--stdout", text], { maxBuffer: 1 << 26 })
  const rate = wav.readUInt32LE(24)
  if (rate !== 22_050) throw new Error(`espeak-ng speaks at ${rate} Hz instead of 22050 Hz`)
  const samples = Int16Array.from({ length: (wav.length - 44) >> 1 }, (_, i) => wav.readInt16LE(44 + 2 * i))
  const resampler = new Resampler(rate, to)
  return concat([resampler.push(samples), resampler.end()].map((part) => Float32Array.from(part)))
}

const say = (voice: string, text: string, speed: number): Signal => {
  const signal = handset(synthesize(voice, text, speed, sampleRate))
  return atLevel(signal, activeRms(signal), 0)
}

/** Words with soft beginnings and ends as a web page hears them, at 16 kHz. */
export const pageWords = (): ReadonlyArray<Utterance> =>
  [
    ["fish", "en-us+f3", "Fish."],
    ["six", "en-us+m3", "Six."],
    ["half-past-six", "en-gb+m7", "She sells fish, at half past six."],
    ["zwei", "de+f2", "Zwei Fische, hoffe ich."]
  ].map(([name = "", voice = "", text = ""]) => {
    const signal = synthesize(voice, text, 150, 16_000)
    return { name, signal: atLevel(signal, activeRms(signal), 0) }
  })

const callersOf = (
  texts: Readonly<Record<string, ReadonlyArray<string>>>,
  voices: ReadonlyArray<string>
): ReadonlyArray<Utterance> =>
  Object.entries(texts).flatMap(([language, sentences], l) =>
    voices.flatMap((voice, v) =>
      sentences.map((text, i) => ({
        name: `${language}-${voice}-${i}`,
        signal: say(`${language}+${voice}`, text, 150 + ((l * 7 + v * 13 + i * 11) % 40))
      }))
    )
  )

/** 64 utterances of 0.3 to 4 s in 8 languages by a man's and a woman's voice. */
export const callers = (): ReadonlyArray<Utterance> => callersOf(lines, ["m3", "f3"])

/** 36 utterances in 6 other languages by other voices, which constants were chosen with later. */
export const secondCallers = (): ReadonlyArray<Utterance> => callersOf(secondLines, ["m7", "f2"])

/** 36 utterances in 6 more languages by other voices, which no constant was chosen with. */
export const heldOutCallers = (): ReadonlyArray<Utterance> => callersOf(heldOutLines, ["m4", "f5"])

const agentOf = (texts: ReadonlyArray<string>, voices: ReadonlyArray<string>): ReadonlyArray<Utterance> =>
  voices.flatMap((voice) => texts.map((text, i) => ({ name: `agent-${voice}-${i}`, signal: say(voice, text, 160) })))

/** What an agent says: 5 texts by two voices. */
export const agent = (): ReadonlyArray<Utterance> => agentOf(agentLines, ["en-us+f2", "en-gb+m7"])

/** 3 other texts by two other voices, which constants were chosen with later. */
export const secondAgent = (): ReadonlyArray<Utterance> => agentOf(secondAgentLines, ["en-us+m3", "de+f3"])

/** 3 more texts by two other voices, which no constant was chosen with. */
export const heldOutAgent = (): ReadonlyArray<Utterance> => agentOf(heldOutAgentLines, ["en-us+f5", "en-gb+m1"])

/** Words of a language in a random order, and numbers. */
const chatter = (sentences: ReadonlyArray<string>, random: Random): string => {
  const words = sentences.flatMap((sentence) => sentence.split(" "))
  return Array.from({ length: 45 }, () =>
    random() < 0.15 ? String(Math.floor(10 ** (1 + 3 * random()))) : (words[Math.floor(random() * words.length)] ?? "")
  ).join(" ")
}

/** Speech of at least `seconds` in 14 languages by eight voices, in pieces of half a minute or less. */
export function* longSpeech(seconds: number): Generator<Utterance> {
  const random = seeded(17)
  const texts = Object.entries({ ...lines, ...secondLines })
  const voices = ["m1", "f1", "m3", "f3", "m5", "f4", "m7", "f2"]
  let rest = seconds * sampleRate
  for (let i = 0; rest > 0; i++) {
    const [language, sentences] = texts[i % texts.length] ?? ["en", []]
    const voice = voices[Math.floor(i / texts.length) % voices.length] ?? ""
    const signal = say(`${language}+${voice}`, chatter(sentences, random), 120 + Math.floor(90 * random()))
    rest -= signal.length
    yield { name: `${language}-${voice}-${i}`, signal }
  }
}
