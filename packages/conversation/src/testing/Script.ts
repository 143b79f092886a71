import { AgentId, CallId } from "@svc/api/Ids"
import { Schema } from "effect"
import type { CallConfig } from "../answers/CallConfig.ts"
import { defaultSpeech, defaultTurnTaking } from "../answers/CallSettings.ts"
import type { Command } from "../Command.ts"
import { type Conversation, start, step } from "../Conversation.ts"
import type { Facts, Input } from "../Input.ts"
import type { Timer } from "../Timer.ts"

/** Conversations for tests: inputs in, readable commands out. */

export const facts: Facts = {
  _tag: "Facts",
  call_id: Schema.decodeSync(CallId)("call_000000000000000000000001"),
  agent_id: Schema.decodeSync(AgentId)("agent_000000000000000000000001"),
  from: "+15550001111",
  to: "+15550002222",
  started_at: Date.UTC(2026, 0, 1),
  agent: { language: "en-US", voice: "Sarah", max_duration: 1800, end_call_enabled: true },
  endpointing: "provider"
}

export const tool = (name: string, timeout_seconds = 5) => ({
  name,
  description: "",
  parameters: { type: "object", properties: {} },
  timeout_seconds
})

export const config: CallConfig = {
  system_prompt: "You answer the phone.",
  first_message: "Hello there.",
  end_session_message: "Goodbye.",
  language: "en-US",
  voice: "Sarah",
  max_duration: 1800,
  inactivity_timeout: null,
  recording_enabled: null,
  stt_format: "smart",
  stt_keyterms: [],
  speak_during_tool_call: null,
  tools: [tool("lookup"), tool("slow", 2)],
  end_call: true,
  send_sms: null,
  extraction: null,
  post_call_sms: null,
  dtmf_actions: { "1": "sales" },
  metadata: {},
  turn_taking: defaultTurnTaking,
  first_message_interruptible: true,
  silence_prompts: null,
  model: null,
  speech: defaultSpeech,
  platform_tools: [],
  languages: [],
  warnings: []
}

type Untimed = Input extends infer I ? (I extends Input ? Omit<I, "at"> : never) : never

/**
 * One conversation under test. `wait` advances its time; `take` returns the commands since the last `take`, in short.
 */
export class Script {
  state: Conversation
  at = 0
  readonly commands: Array<Command> = []
  readonly inputs: Array<Input> = []
  /** Whether the test itself feeds RecognizerFinished; else it follows StopListening at once. */
  feedsRecognizerFinished = false

  constructor(given: Facts = facts) {
    const [state, commands] = start(given)
    this.state = state
    this.commands.push(...commands)
  }

  /** An answered call with its first message, if any, still queued. */
  static live(change: Partial<CallConfig> = {}, given: Partial<Facts> = {}): Script {
    const script = new Script({ ...facts, ...given })
    script.input({ _tag: "ConfigAnswered", config: { ...config, ...change } })
    script.input({ _tag: "Answered" })
    return script
  }

  /** A live call in which the first message has been played. */
  static greeted(change: Partial<CallConfig> = {}, given: Partial<Facts> = {}): Script {
    const script = Script.live(change, given)
    script.play("u0")
    script.commands.length = 0
    return script
  }

  wait(ms: number): this {
    this.at += ms
    return this
  }

  input(input: Untimed): this {
    const timed = { ...input, at: this.at } as Input
    this.inputs.push(timed)
    const [state, commands] = step(this.state, timed)
    this.state = state
    this.commands.push(...commands)
    // Speech-to-text without further transcripts.
    if (!this.feedsRecognizerFinished && commands.some((c) => c._tag === "StopListening"))
      this.input({ _tag: "RecognizerFinished" })
    return this
  }

  play(id: string): this {
    return this.input({ _tag: "SpeechStarted", id }).input({ _tag: "SpeechPlayed", id })
  }

  /** The caller speaks a whole turn. */
  say(text: string): this {
    return this.input({ _tag: "CallerSpeechStarted" })
      .input({ _tag: "CallerFinal", text })
      .input({ _tag: "CallerEndOfTurn" })
      .input({ _tag: "CallerSpeechStopped" })
  }

  fire(timer: Timer): this {
    return this.input({ _tag: "TimerFired", timer })
  }

  /** The commands since the last `take`, each in short form; without EndSpeech, which follows every answer. */
  take(): ReadonlyArray<string> {
    return this.commands
      .splice(0)
      .filter(({ _tag }) => _tag !== "EndSpeech")
      .map(describe)
  }

  get events(): ReadonlyArray<string> {
    return this.commands.flatMap((c) => (c._tag === "Emit" ? [c.event] : []))
  }

  get transcript(): ReadonlyArray<string> {
    return this.state.transcript.map((t) => `${t.role}: ${t.content}`)
  }
}

export const describe = (c: Command): string => {
  switch (c._tag) {
    case "Speak":
      return `Speak ${c.id} ${c.text}`
    case "AskModel":
      return `AskModel ${c.turn}`
    case "LookUp":
      return `LookUp ${c.id} ${c.query}`
    case "InvokeTool":
    case "CancelTool":
      return `${c._tag} ${c.id}`
    case "StartTimer":
      return `StartTimer ${c.timer} ${c.ms}`
    case "StopTimer":
      return `StopTimer ${c.timer}`
    case "Emit":
      return `Emit ${c.event}`
    case "TellTranscript":
      return `Tell ${c.role}: ${c.content}`
    case "Hangup":
      return `Hangup ${c.reason}`
    case "Finish":
      return `Finish ${c.status} ${c.disposition} ${c.ended_reason}`
    default:
      return c._tag
  }
}
