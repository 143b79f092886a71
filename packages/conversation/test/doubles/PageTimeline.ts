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

/** The text of each utterance by its id. */
type Texts = ReadonlyMap<string, string>

const inputRow = (input: Input, then: ReadonlyArray<Command>, texts: Texts): Row | undefined => {
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
      return ["agent", `begins to say ${quoted(texts.get(input.id) ?? "")}`]
    case "SpeechPlayed":
      return ["agent", `has said ${quoted(texts.get(input.id) ?? "")}`]
    case "SpeechCleared": {
      const played = input.cuts.flatMap((cut) => (cut.played === "" ? [] : [cut.played]))
      return played.length === 0 ? undefined : ["agent", `was heard up to ${quoted(played.join(" "))}`]
    }
    case "TimerFired":
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
      return ["agent", "is stopped"]
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
  const texts: Texts = new Map(commands.flatMap((c) => (c._tag === "Speak" ? [[c.id, c.text] as const] : [])))
  const rows = steps
    .filter(({ input }) => input.at >= from * 1000 && input.at <= to * 1000)
    .flatMap(({ commands: then, input }) =>
      [inputRow(input, then, texts), ...then.map(commandRow)].flatMap((row) =>
        row === undefined ? [] : [[input.at, ...row]]
      )
    )
  return rows
    .map(([at, who, what]) => `${(Number(at) / 1000).toFixed(3).padStart(7)}  ${String(who).padEnd(10)}  ${what}`)
    .join("\n")
}
