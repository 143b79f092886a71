import type { Floor } from "../Floor.ts"

/** What a turn machine reacts to. */
export type TurnInput =
  /** Sound of the caller begins. */
  | "sound"
  /** The sound has lasted for `bargeInMs`, or with nothing but a backchannel for `backchannelMs`. */
  | "sound lasts"
  /** Words that may take the floor: all that was understood since the caller began is more than a backchannel. */
  | "words"
  /** All that was understood since the caller began is a backchannel ("uh-huh"). */
  | "backchannel"
  /** No word within `resumeMs` after the sound stopped the agent. */
  | "no words"
  /** The shell has stopped the speech, and reports how much of it was played. */
  | "cleared"
  /** The caller has finished, with words or with a backchannel. */
  | "end of turn"
  | "end of backchannel"

export type TurnAction =
  | "-"
  /** Takes the words in, and waits for the end of the turn. */
  | "listen"
  /** Waits whether the sound lasts. */
  | "watch"
  /** Waits longer for other words. */
  | "tolerate"
  /** Stops the agent; the rest is held. */
  | "hold"
  /** Stops the agent; the rest is dropped. */
  | "interrupt"
  /** Drops the rest. */
  | "drop"
  /** Speaks the rest. */
  | "resume"
  /** Speaks the rest, when the transcript is final. */
  | "resume if final"
  /** Waits for words. */
  | "await words"
  /** Writes the words down as a turn, and asks the model as soon as it may be asked. */
  | "answer"
  /** Writes the words down as a turn. */
  | "write down"
  /** Writes nothing down; the answer to a question that the agent has not quite finished is kept until it has. */
  | "ignore"

type Row = { readonly [I in TurnInput]: TurnAction }

/** The agent does not speak. */
const silent: Row = {
  sound: "-",
  "sound lasts": "-",
  words: "listen",
  backchannel: "listen",
  "no words": "-",
  cleared: "drop",
  "end of turn": "answer",
  "end of backchannel": "answer"
}

/** The model is not asked. */
const writtenDown: Row = { ...silent, "end of turn": "write down", "end of backchannel": "write down" }

/** The agent speaks, and is not interrupted. */
const uninterrupted: Row = {
  ...silent,
  sound: "watch",
  backchannel: "tolerate",
  "end of backchannel": "ignore"
}

/**
 * What each input does, by who has the floor when it comes. The end of a turn first counts as words, the end of a
 * backchannel as a backchannel.
 *
 * | floor | sound | sound lasts | words | backchannel | no words | cleared | end of turn | end of backchannel |
 * |---|---|---|---|---|---|---|---|---|
 * | closed, menu, farewell, hello | - | - | listen | listen | - | drop | write down | write down |
 * | machine, transferring, collecting, nobody, caller, thinking, caller while thinking, tools, caller while tools run, interrupted | - | - | listen | listen | - | drop | answer | answer |
 * | prompting | watch | - | listen | tolerate | - | drop | answer | ignore |
 * | greeting | watch | - | listen | tolerate | - | drop | write down | ignore |
 * | speaking | watch | hold | interrupt | tolerate | - | drop | answer | ignore |
 * | held | - | - | interrupt | resume if final | resume | await words | answer | ignore |
 */
export const turnTable: { readonly [F in Floor]: Row } = {
  closed: writtenDown,
  menu: writtenDown,
  farewell: writtenDown,
  hello: writtenDown,
  machine: silent,
  transferring: silent,
  collecting: silent,
  nobody: silent,
  caller: silent,
  thinking: silent,
  "caller while thinking": silent,
  tools: silent,
  "caller while tools run": silent,
  prompting: uninterrupted,
  greeting: { ...uninterrupted, "end of turn": "write down" },
  speaking: { ...uninterrupted, "sound lasts": "hold", words: "interrupt" },
  held: {
    ...silent,
    words: "interrupt",
    backchannel: "resume if final",
    "no words": "resume",
    cleared: "await words",
    "end of backchannel": "ignore"
  },
  interrupted: silent
}
