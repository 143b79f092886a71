import type { Floor } from "../Floor.ts"

/** The inputs of the turn table. */
export type TurnInput =
  /** Sound of the caller begins. */
  | "sound"
  /** The sound has lasted for `interrupt_after_ms`, or for `backchannelMs` if the only words are a backchannel. */
  | "long sound"
  /** Words that may take the floor: more than a backchannel, and `interrupt_min_words` at least. */
  | "words"
  /** The caller's only words so far are a backchannel ("uh-huh"), or too few. */
  | "backchannel"
  /** No words within `resume_after_ms` after sound stopped the agent, and silence now. */
  | "no words"
  /** The shell has stopped the agent's speech and reported how much of it was played. */
  | "cleared"
  /** The caller has finished, with other words or with a backchannel only. */
  | "end of turn"
  | "end of backchannel"

export type TurnAction =
  | "-"
  /** The timer, started at the first sound, fires `long sound`. */
  | "start barge-in timer"
  /** A backchannel gets more time: the timer restarts with `backchannelMs`. */
  | "extend barge-in timer"
  | "stop barge-in timer"
  /** Stops the agent; the rest of its speech is held. With `resume_after_ms: null` it is dropped. */
  | "hold speech"
  /** The agent does not begin to speak: what it would say is held. */
  | "hold coming speech"
  /** Stops the agent; the rest of its speech is dropped. */
  | "interrupt"
  | "drop held speech"
  /** Speaks the held speech: the interruption was false. */
  | "resume speech"
  /** The same, but only if the transcript is final and the caller makes no sound. */
  | "resume speech if final"
  /** Waits for words: the timer fires `no words`. */
  | "start resume timer"
  /** Records the words as a turn, and asks the model as soon as possible. */
  | "record turn and answer"
  /** Records the words as a turn, without asking the model. */
  | "record turn"
  /** Keeps the words until the agent has finished; then they are a turn. */
  | "keep turn"
  /** Discards a backchannel, unless it may answer a question that the agent has not finished; that and other words are kept. */
  | "discard turn"

type Row = { readonly [I in TurnInput]: TurnAction }

/** The agent does not speak. */
const silent: Row = {
  sound: "start barge-in timer",
  "long sound": "hold coming speech",
  words: "-",
  backchannel: "-",
  "no words": "-",
  cleared: "drop held speech",
  "end of turn": "record turn and answer",
  "end of backchannel": "record turn and answer"
}

/** The caller cannot stop or delay the agent. */
const unstoppable: Row = {
  ...silent,
  sound: "-",
  "long sound": "-",
  words: "stop barge-in timer",
  backchannel: "stop barge-in timer",
  "no words": "-"
}

/** The model is not asked. */
const recordedOnly: Row = { ...unstoppable, "end of turn": "record turn", "end of backchannel": "record turn" }

/** The agent speaks and cannot be interrupted. */
const uninterrupted: Row = {
  ...unstoppable,
  sound: "start barge-in timer",
  backchannel: "extend barge-in timer",
  "end of backchannel": "discard turn"
}

/**
 * The action of each input, by the floor when it arrives. An end of turn is first handled as words, the end of a
 * backchannel as a backchannel.
 *
 * | floor | sound | long sound | words | backchannel | no words | cleared | end of turn | end of backchannel |
 * |---|---|---|---|---|---|---|---|---|
 * | closed, menu, farewell, caller greeting | - | - | stop barge-in timer | stop barge-in timer | - | drop held speech | record turn | record turn |
 * | voicemail, transferring, collecting | - | - | stop barge-in timer | stop barge-in timer | - | drop held speech | record turn and answer | record turn and answer |
 * | nobody, caller, generating, caller while generating, running tools, caller while tools run, interrupted | start barge-in timer | hold coming speech | - | - | - | drop held speech | record turn and answer | record turn and answer |
 * | prompting | start barge-in timer | - | stop barge-in timer | extend barge-in timer | - | drop held speech | record turn and answer | discard turn |
 * | greeting | - | - | stop barge-in timer | stop barge-in timer | - | drop held speech | keep turn | discard turn |
 * | both greeting | start barge-in timer | - | stop barge-in timer | extend barge-in timer | - | drop held speech | record turn | discard turn |
 * | agent | start barge-in timer | hold speech | interrupt | extend barge-in timer | - | drop held speech | record turn and answer | discard turn |
 * | possibly interrupted | - | - | interrupt | resume speech if final | resume speech | start resume timer | record turn and answer | discard turn |
 */
export const turnTable: { readonly [F in Floor]: Row } = {
  closed: recordedOnly,
  menu: recordedOnly,
  farewell: recordedOnly,
  "caller greeting": recordedOnly,
  voicemail: unstoppable,
  transferring: unstoppable,
  collecting: unstoppable,
  nobody: silent,
  caller: silent,
  generating: silent,
  "caller while generating": silent,
  "running tools": silent,
  "caller while tools run": silent,
  prompting: uninterrupted,
  greeting: { ...unstoppable, "end of turn": "keep turn", "end of backchannel": "discard turn" },
  "both greeting": { ...uninterrupted, "end of turn": "record turn" },
  agent: { ...uninterrupted, "long sound": "hold speech", words: "interrupt" },
  "possibly interrupted": {
    ...unstoppable,
    words: "interrupt",
    backchannel: "resume speech if final",
    "no words": "resume speech",
    cleared: "start resume timer",
    "end of backchannel": "discard turn"
  },
  interrupted: silent
}
