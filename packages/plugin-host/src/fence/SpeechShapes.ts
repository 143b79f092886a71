import { type Check, fields, is, isRecord, kindOf, oneOf, type Problem } from "./Shapes.ts"

/** What is wrong with a value of a speech provider. */

const speechError = fields("the error of Failed", { reason: "string" })

const language = (value: unknown): Problem => is("the language of an event", "string or undefined", value)

const spokenWord = fields("a word", { text: "string", start: "finite number", end: "finite number" })

/** The words of a final, where the provider tells them. */
const spokenWords = (value: unknown): Problem => {
  if (value === undefined) return undefined
  if (!Array.isArray(value)) return `the words of a final must be an array, not ${kindOf(value)}`
  for (const word of value) {
    const problem = spokenWord(word)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** One event of a speech-to-text session. */
export const speechEvent: Check = (value) => {
  if (!isRecord(value)) return `an event must be an object, not ${kindOf(value)}`
  switch (value["_tag"]) {
    case "SpeechStarted":
    case "TurnResumed":
    case "EndOfTurn":
      return undefined
    case "Partial":
      return is("the text of a partial", "string", value["text"]) ?? language(value["language"])
    case "EagerEndOfTurn":
      return is("the text of an eager end of turn", "string", value["text"])
    case "Final":
      return (
        is("the text of a final", "string", value["text"]) ??
        is("the confidence of a final", "finite number", value["confidence"]) ??
        language(value["language"]) ??
        spokenWords(value["words"]) ??
        is("the end of a final", "finite number or undefined", value["end"])
      )
    case "Failed":
      return speechError(value["error"])
    default:
      return "an event must be SpeechStarted, Partial, Final, EagerEndOfTurn, TurnResumed, EndOfTurn or Failed"
  }
}

const sessionMethods = fields("a session", {
  push: "function",
  flush: "function or undefined",
  update: "function or undefined",
  voiceActivity: "function or undefined",
  finish: "object"
})

export const speechSession: Check = (value) => {
  const problem = sessionMethods(value)
  if (problem !== undefined || !isRecord(value) || value["endpointing"] === undefined) return problem
  return oneOf("a session.endpointing", ["provider", "none"], value["endpointing"])
}

/** A turn of text-to-speech. */
export const speechTurn: Check = fields("a turn", { say: "function", end: "function", done: "object" })

/** The samples of a text-to-speech provider. */
export const samples: Check = (value) => is("the samples", "Int16Array", value)

/** How much of a turn has been spoken: characters of its text, samples of its audio. */
export const alignment: Check = (value) =>
  Number.isInteger(value) && Number(value) >= 0 ? undefined : "an alignment must have whole numbers from 0"
