import type { Command } from "../../src/Command.ts"
import type { Input } from "../../src/Input.ts"
import type { PlayedCall } from "./PlayedCall.ts"

/** The timelines in docs/turn-taking.md, from recorded conversations: who did what, without what a reader can leave out. */

/** Who, and what. */
type Row = readonly [who: string, what: string]

const quoted = (text: string): string => `"${text.trim()}"`

const timers: { readonly [timer: string]: Row } = {
  endpoint: ["silence", "ends the turn"],
  barge_in: ["caller", "has made sound for interrupt_after_ms"],
  resume: ["silence", "no words have followed"],
  silence_prompt: ["silence", "has lasted for after_seconds"],
  inactivity: ["silence", "has lasted for inactivity_timeout"],
  filler: ["silence", "the caller has waited for the model"],
  knowledge: ["knowledge", "is not waited for any longer"],
  model: ["model", "has been silent for too long"]
}

/** The texts of utterances by their ids, and those that have begun: speech that goes on does not begin again. */
interface Speech {
  readonly texts: ReadonlyMap<string, string>
  readonly begun: Set<string>
}

const inputRow = (input: Input, then: ReadonlyArray<Command>, { begun, texts }: Speech): Row | undefined => {
  switch (input._tag) {
    case "CallerSpeechStarted":
      return ["caller", "makes sound"]
    case "CallerSpeechStopped":
      return ["caller", "is silent"]
    case "CallerPartial":
      return ["caller", `${quoted(input.text)} so far`]
    case "CallerFinal":
      return ["caller", `${quoted(input.text)} is final`]
    case "CallerEndOfTurn":
      return ["stt", "ends the turn"]
    case "CallerEndExpected":
      return ["caller", "has probably finished"]
    case "CallerEndWithdrawn":
      return ["stt", "the caller goes on"]
    case "CallerHungUp":
      return ["caller", "hangs up"]
    case "Dtmf":
      return ["caller", `presses ${input.digit}`]
    case "RecognizerFailed":
      return ["stt", "fails"]
    case "ModelSentence":
      return ["model", quoted(input.text)]
    case "ModelToolCalls":
      return ["model", `calls ${input.calls.map(({ name }) => name).join(", ")}`]
    case "ModelFailed":
      return ["model", "fails"]
    case "KnowledgeFound":
      return ["knowledge", `finds ${input.passages.length === 1 ? "1 passage" : `${input.passages.length} passages`}`]
    case "ToolAnswered":
      return ["tool", `answers ${JSON.stringify(input.result)}`]
    case "SpeechStarted":
      if (begun.has(input.id)) return undefined
      begun.add(input.id)
      return ["agent", `begins to say ${quoted(texts.get(input.id) ?? "")}`]
    case "SpeechPlayed":
      return ["agent", `has said ${quoted(texts.get(input.id) ?? "")}`]
    case "SpeechCleared": {
      const played = input.cuts.flatMap((cut) => (cut.played === "" ? [] : [cut.played]))
      return played.length === 0 ? undefined : ["agent", `was heard up to ${quoted(played.join(" "))}`]
    }
    case "TimerFired":
      if (input.timer === "endpoint" && !then.some(({ _tag }) => _tag === "TellTranscript"))
        return ["silence", "ends sound without words"]
      // Long sound of a caller who has the floor anyway.
      return input.timer === "barge_in" && then.length === 0 ? undefined : timers[input.timer]
    default:
      return undefined
  }
}

const commandRow = (command: Command): Row | undefined => {
  switch (command._tag) {
    case "AskModel":
      return ["model", command.ahead === undefined ? "is asked" : "the held answer is adopted"]
    case "AskAhead":
      return ["model", "is asked ahead; its answer is held"]
    case "DropAhead":
      return ["model", "the held answer is dropped"]
    case "CancelModel":
      return ["model", "is stopped"]
    case "LookUp":
      return ["knowledge", `is asked for ${quoted(command.query)}`]
    case "InvokeTool":
      return ["tool", `${command.name} starts`]
    case "Listen":
      return ["stt", `listens in ${command.language}`]
    case "PressKeys":
      return ["agent", `presses ${command.digits}`]
    case "Speak":
      return ["tts", `is asked for ${quoted(command.text)}`]
    case "StopSpeaking":
      return ["agent", command.hold === true ? "is stopped; the rest is held" : "is stopped"]
    case "ResumeSpeaking":
      return ["agent", "goes on from the word that was cut"]
    case "DropSpeech":
      return ["agent", "what was held is dropped"]
    case "Hangup":
      return ["call", `is hung up: ${command.reason}`]
    case "Emit":
      return command.event === "barge_in"
        ? ["event", "barge_in"]
        : command.event === "transcript.updated"
          ? ["transcript", `${command.data.turn.role}: ${command.data.turn.content}`]
          : undefined
    default:
      return undefined
  }
}

/** The rows of a call between two times in seconds, both included. */
export const pageTimeline = ({ commands, steps }: PlayedCall, from: number, to: number): string => {
  const texts = new Map(commands.flatMap((c) => (c._tag === "Speak" ? [[c.id, c.text] as const] : [])))
  const speech: Speech = { texts, begun: new Set() }
  return steps
    .flatMap(({ commands: then, input }) => {
      const rows = [inputRow(input, then, speech), ...then.map(commandRow)]
      if (input.at < from * 1000 || input.at > to * 1000) return []
      const at = (input.at / 1000).toFixed(3).padStart(7)
      return rows.flatMap((row) => (row === undefined ? [] : [`${at}  ${row[0].padEnd(10)}  ${row[1]}`]))
    })
    .join("\n")
}
