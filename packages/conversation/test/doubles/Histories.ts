import * as fc from "fast-check"
import type { CallConfig } from "../../src/answers/CallConfig.ts"
import type { GatherRules } from "../../src/answers/GatherRules.ts"
import type { Command } from "../../src/Command.ts"
import { type Conversation, start, step } from "../../src/Conversation.ts"
import type { Facts, Input, InputOf, UntimedInput } from "../../src/Input.ts"
import { Timer } from "../../src/Timer.ts"
import { config, facts, tool } from "../../src/testing/Script.ts"

/** Calls with inputs in any order, also impossible ones, for property tests. */

/** A call from its facts to its last input. */
export interface History {
  readonly facts: Facts
  readonly first: ReadonlyArray<Command>
  readonly steps: ReadonlyArray<{ readonly input: Input; readonly commands: ReadonlyArray<Command> }>
  readonly state: Conversation
}

export const commandsOf = ({ first, steps }: History): ReadonlyArray<Command> => [
  ...first,
  ...steps.flatMap(({ commands }) => commands)
]

/** An input derived from the current state: of the current turn, of a playing utterance. */
type Act = (state: Conversation) => UntimedInput

type Fields<Tag extends Input["_tag"]> = Omit<InputOf<Tag>, "_tag" | "at">

/** The relative frequency of an input, and its fields. */
interface Source<Tag extends Input["_tag"]> {
  readonly weight: number
  readonly fields: fc.Arbitrary<(state: Conversation) => Fields<Tag>>
}

const rules = (prompt: string, max_digits: number): GatherRules => ({
  prompt,
  voice: null,
  language: null,
  max_digits,
  terminator: "#",
  timeout_seconds: 5
})
const anyRules = fc.constantFrom(rules("Your number?", 2), rules("", 1))
const menu = fc.record({ rules: anyRules, max_retries: fc.constantFrom(0, 1) })

const sms = fc
  .constantFrom("caller", "+15550003333")
  .map((to) => ({ to, message: "Bye {{call_id}}", sender_name: null }))
const maybe = <A>(value: fc.Arbitrary<A>): fc.Arbitrary<A | null> => fc.option(value, { nil: null })

const anyConfig: fc.Arbitrary<CallConfig> = fc
  .record({
    first_message: fc.constantFrom(null, "Hello there.", "Hello. How are you?"),
    end_session_message: fc.constantFrom(null, "Goodbye."),
    voicemail_message: fc.constantFrom(null, "Please call back."),
    inactivity_timeout: fc.constantFrom(null, 5),
    speak_during_tool_call: fc.constantFrom(null, "auto", "Let me see."),
    transfer_destinations: fc.constantFrom({}, { sales: "+15550004444" }),
    send_sms: maybe(fc.constant({ timeout_seconds: 3 })),
    extraction: maybe(fc.constant([{ name: "name", type: "string" as const }])),
    post_call_sms: maybe(sms),
    end_call: fc.boolean()
  })
  .map((change) => ({
    ...config,
    ...change,
    tools: [tool("lookup"), tool("slow"), { ...tool("pin"), gather: rules("Your pin?", 2) }]
  }))

const anyFacts: fc.Arbitrary<Facts> = fc
  .record({
    outbound: fc.option(fc.constant({ ring_timeout_seconds: 30, metadata: { order: 1 } }), { nil: undefined }),
    providers: fc.option(
      fc.record({
        recognizers: fc.constantFrom(["provider"] as const, ["provider", "none"] as const),
        models: fc.constantFrom(1, 2, 3),
        voices: fc.constantFrom(1, 2)
      }),
      { nil: undefined }
    ),
    knowledge: fc.option(fc.constant(true as const), { nil: undefined }),
    preemptive: fc.option(fc.constant(true as const), { nil: undefined }),
    filler_ms: fc.option(fc.constant(1500), { nil: undefined }),
    history_tokens: fc.option(fc.constant(40), { nil: undefined }),
    endpointing: fc.constantFrom("provider" as const, "none" as const),
    from: fc.constantFrom("+15550001111", null)
  })
  .map(({ filler_ms, history_tokens, knowledge, outbound, preemptive, providers, ...change }) => ({
    ...facts,
    ...change,
    ...(outbound === undefined ? {} : { outbound }),
    ...(providers === undefined ? {} : { providers }),
    ...(filler_ms === undefined ? {} : { filler_ms }),
    ...(history_tokens === undefined ? {} : { history_tokens }),
    ...(knowledge === undefined ? {} : { knowledge }),
    ...(preemptive === undefined ? {} : { preemptive })
  }))

const fixed = <A>(arbitrary: fc.Arbitrary<A>): fc.Arbitrary<() => A> => arbitrary.map((value) => () => value)
const none = fixed(fc.constant({}))
const late = fixed(fc.constantFrom({}, { late: 60 }))
const words = fc.constantFrom("", " ", "Hello there.", "Yes", "uh-huh", "Please leave a message", "What time is it?")
const reason = fixed(fc.record({ reason: fc.constant("it broke") }))
/** Mostly the current turn of the model. */
const turn = fc.constantFrom(0, 0, 0, 0, 0, -1, 1)
const turnOf = (state: Conversation, shift: number): number => (state.model?.turn ?? state.next_turn) + shift
const ofTurn = turn.map((shift) => (state: Conversation) => ({ turn: turnOf(state, shift) }))
/** Mostly an utterance that is playing or queued. */
const utterance = fc.constantFrom(0, 0, 0, 0, 0, -1, 1)
const idOf = (state: Conversation, shift: number): string => {
  const open = state.entries.flatMap((e) => (e.kind === "agent" ? e.utterances : []))
  const next = open.find((u) => u.state === "playing" || u.state === "queued")?.id ?? `u${state.next_utterance - 1}`
  return `u${Number(next.slice(1)) + shift}`
}
const ofUtterance = utterance.map((shift) => (state: Conversation) => ({ id: idOf(state, shift) }))
const ofTool = fc.nat(3).map((n) => (state: Conversation) => {
  const uses = state.entries.flatMap((e) => (e.kind === "agent" ? e.tools : []))
  const pending = uses.filter((t) => t.pending)
  return { id: (pending[n] ?? pending[0] ?? uses[n])?.id ?? "none" }
})
const passage = { knowledge_base: "Help", heading: null, text: "We open at nine.", score: 0.5 }
/** Mostly the look-up that runs, or a tool call. */
const ofLookUp = fc
  .tuple(ofTool, fc.constantFrom(0, 0, 0, 1), fc.constantFrom("turn" as const, "turn" as const, "tool" as const))
  .map(([tool, shift, purpose]) => (state: Conversation) => ({
    id: purpose === "tool" ? tool(state).id : `k${state.knowledge.next - 1 - shift}`,
    purpose
  }))
const call = fc.record({
  id: fc.constantFrom("a", "b", "c"),
  name: fc.constantFrom(
    "lookup",
    "slow",
    "pin",
    "unknown",
    "end_call",
    "transfer_call",
    "svc_send_sms",
    "svc_voicemail_reached",
    "search_knowledge"
  ),
  arguments: fc.constantFrom({}, { destination: "sales" }, { to: "+15550005555", message: "Hi", query: "hours" })
})
type ModelCall = InputOf<"ModelToolCalls">["calls"][number]

const [timerNames] = Timer.members
const anyTimer = fc.constantFrom<Timer>(...timerNames.literals, "tool:a", "tool:unknown")

/** Every input has a source: the compiler says when one is missing. */
const sources: { readonly [Tag in Input["_tag"]]: Source<Tag> } = {
  CallerEndExpected: { weight: 4, fields: fixed(fc.record({ text: words })) },
  CallerEndWithdrawn: { weight: 1, fields: none },
  MenuAnswered: { weight: 1, fields: fixed(fc.record({ menu, warnings: fc.constant([]) })) },
  ConfigAnswered: { weight: 4, fields: fixed(fc.record({ config: anyConfig })) },
  ConfigFailed: { weight: 1, fields: reason },
  TranscriptFailed: {
    weight: 1,
    fields: fixed(fc.record({ count: fc.integer({ min: 1, max: 3 }), reason: fc.constant("gone") }))
  },
  RecordingFailed: { weight: 1, fields: reason },
  Answered: { weight: 4, fields: none },
  AnswerFailed: { weight: 1, fields: fixed(fc.record({ reason: fc.constant("gone"), failed: fc.boolean() })) },
  DialFailed: {
    weight: 1,
    fields: fixed(
      fc.record({
        outcome: fc.constantFrom("busy" as const, "no-answer" as const, "rejected" as const, "failed" as const),
        reason: fc.constant("486")
      })
    )
  },
  ModelUsed: {
    weight: 2,
    fields: fixed(
      fc.record({
        input_tokens: fc.constantFrom(0, 900, -1, 1e15),
        cached_input_tokens: fc.constantFrom(0, 700, 5000),
        output_tokens: fc.constantFrom(0, 30.5, -1)
      })
    )
  },
  Summarized: {
    weight: 2,
    fields: fc.constantFrom("They spoke.", "").map((text) => (state: Conversation) => ({
      id: state.history.pending?.id ?? "s0",
      text
    }))
  },
  ProviderWarned: {
    weight: 1,
    fields: fixed(fc.constantFrom({ stage: "text-to-speech" as const, reason: "it is odd" }))
  },
  SummaryFailed: {
    weight: 1,
    fields: fc.constant((state: Conversation) => ({ id: state.history.pending?.id ?? "s0", reason: "it broke" }))
  },
  MediaReported: {
    weight: 2,
    fields: fixed(
      fc.record({
        tts: fc.constant({ characters: 12, cached_characters: 0 }),
        stt: fc.constant({ seconds: 1.5 }),
        line: fc.constant(null)
      })
    )
  },
  AnswererReported: {
    weight: 1,
    fields: fixed(
      fc.record({ verdict: fc.constantFrom("human" as const, "machine" as const, "fax" as const, "unknown" as const) })
    )
  },
  BeepHeard: { weight: 1, fields: none },
  CallerSpeechStarted: { weight: 6, fields: late },
  CallerSpeechStopped: { weight: 6, fields: late },
  CallerPartial: { weight: 6, fields: fixed(fc.record({ text: words })) },
  CallerFinal: {
    weight: 8,
    fields: fixed(
      fc.oneof(fc.record({ text: words }), fc.record({ text: words, language: fc.constantFrom("nl", "en-US", "xx") }))
    )
  },
  CallerEndOfTurn: { weight: 6, fields: none },
  RecognizerFailed: {
    weight: 1,
    fields: fixed(fc.constantFrom({ reason: "broken" }, { reason: "broken", broke: true as const }))
  },
  RecognizerFinished: { weight: 1, fields: none },
  RecognizerOpened: { weight: 1, fields: fc.constant(() => ({ endpointing: "none" as const })) },
  Dtmf: { weight: 3, fields: fixed(fc.record({ digit: fc.constantFrom("1", "2", "#", "*") })) },
  ModelStarted: { weight: 4, fields: ofTurn },
  ModelSentence: {
    weight: 8,
    fields: fc
      .tuple(ofTurn, words, fc.constantFrom({}, { space: "\n\n" }))
      .map(([turnIn, text, space]) => (state: Conversation) => ({ ...turnIn(state), text, ...space }))
  },
  ModelToolCalls: {
    weight: 8,
    fields: fc.tuple(ofTurn, fc.array(call, { maxLength: 3 })).map(([turnIn, calls]) => (state: Conversation) => ({
      ...turnIn(state),
      calls
    }))
  },
  ModelDone: { weight: 8, fields: ofTurn },
  ModelFailed: {
    weight: 4,
    fields: ofTurn.map((turnIn) => (state: Conversation) => ({ ...turnIn(state), reason: "no" }))
  },
  SpeechStarted: { weight: 8, fields: ofUtterance },
  SpeechPlayed: { weight: 10, fields: ofUtterance },
  SpeechFailed: {
    weight: 2,
    fields: ofUtterance.map((idIn) => (state: Conversation) => ({ ...idIn(state), reason: "no audio" }))
  },
  SpeechCleared: {
    weight: 8,
    fields: fc
      .array(fc.tuple(ofUtterance, fc.constantFrom("", "Hello", "Please", "other")), { maxLength: 3 })
      .map((cuts) => (state: Conversation) => ({ cuts: cuts.map(([idIn, played]) => ({ ...idIn(state), played })) }))
  },
  ToolAnswered: {
    weight: 5,
    fields: fc.tuple(ofTool, fc.jsonValue()).map(([idIn, result]) => (state: Conversation) => ({
      ...idIn(state),
      result
    }))
  },
  ToolFailed: { weight: 2, fields: ofTool.map((idIn) => (state: Conversation) => ({ ...idIn(state), reason: "no" })) },
  KnowledgeFound: {
    weight: 3,
    fields: fc
      .tuple(ofLookUp, fc.constantFrom(0, 1, 1, 1), fc.constantFrom([], [passage], [passage, passage]))
      .map(([of, bases, passages]) => (state: Conversation) => ({ ...of(state), bases, passages, took_ms: 5 }))
  },
  KnowledgeFailed: {
    weight: 1,
    fields: ofLookUp.map((of) => (state: Conversation) => ({ ...of(state), reason: "no" }))
  },
  TimerFired: {
    weight: 8,
    fields: fc.tuple(fc.nat(5), anyTimer).map(([n, other]) => (state: Conversation) => ({
      timer: state.timers[n] ?? other
    }))
  },
  GatherRequested: { weight: 2, fields: fixed(fc.record({ rules: anyRules })) },
  Extracted: { weight: 2, fields: fixed(fc.record({ answer: fc.constantFrom({ name: "Ann" }, {}, null, "text") })) },
  ExtractionFailed: { weight: 1, fields: reason },
  PostCallSmsDone: { weight: 1, fields: fixed(fc.record({ failed: fc.constantFrom(null, "no credit") })) },
  TransferRequested: { weight: 1, fields: fixed(fc.record({ destination: fc.constant("+15550006666") })) },
  TransferProgressed: {
    weight: 3,
    fields: fixed(
      fc.record({
        state: fc.constantFrom(...(["ringing", "completed", "busy", "no-answer", "rejected", "failed"] as const)),
        reason: fc.constantFrom(null, "486")
      })
    )
  },
  EndRequested: { weight: 1, fields: fixed(fc.record({ by: fc.constantFrom("api" as const, "shutdown" as const) })) },
  CallerHungUp: { weight: 1, fields: none },
  LegFailed: { weight: 1, fields: reason },
  Crashed: { weight: 1, fields: reason }
}

const actOf = <Tag extends Input["_tag"]>(tag: Tag, { fields }: Source<Tag>): fc.Arbitrary<Act> =>
  // A tag with the fields of its own input.
  fields.map((fieldsIn) => (state) => ({ _tag: tag, ...fieldsIn(state) }) as unknown as UntimedInput)

const randomAct: fc.Arbitrary<Act> = fc.oneof(
  ...Object.entries(sources).map(([tag, source]) => ({
    weight: source.weight,
    // Object.entries loses that each tag has its own source.
    arbitrary: actOf(tag as Input["_tag"], source as Source<Input["_tag"]>)
  }))
)

/** Plausible next inputs: without them, random inputs rarely get far into a call. */
const candidates = (
  state: Conversation,
  said: string,
  called: ReadonlyArray<ModelCall>
): ReadonlyArray<UntimedInput> => {
  const { entries, gathers, knowledge, model, timers, transfer } = state
  const agents = entries.flatMap((e) => (e.kind === "agent" ? [e] : []))
  const next = agents.flatMap((e) => e.utterances).find((u) => u.state === "queued" || u.state === "playing")
  const held = agents.flatMap((e) => e.utterances).find((u) => u.state === "held")
  const pending = agents.flatMap((e) => e.tools).find((t) => t.pending)
  return [
    ...(model === null
      ? []
      : ([
          { _tag: "ModelSentence", turn: model.turn, text: said },
          { _tag: "ModelToolCalls", turn: model.turn, calls: called },
          { _tag: "ModelDone", turn: model.turn },
          { _tag: "ModelFailed", turn: model.turn, reason: "it broke" }
        ] as const)),
    ...(next === undefined
      ? []
      : [{ _tag: next.state === "queued" ? ("SpeechStarted" as const) : ("SpeechPlayed" as const), id: next.id }]),
    ...(held === undefined ? [] : [{ _tag: "SpeechCleared" as const, cuts: [{ id: held.id, played: "Hello" }] }]),
    ...(pending === undefined ? [] : [{ _tag: "ToolAnswered" as const, id: pending.id, result: 1 }]),
    ...(knowledge.pending === null
      ? []
      : [
          {
            _tag: "KnowledgeFound" as const,
            id: knowledge.pending.id,
            purpose: "turn" as const,
            bases: 1,
            passages: [passage],
            took_ms: 5
          }
        ]),
    ...(gathers.length === 0 ? [] : [{ _tag: "Dtmf" as const, digit: "1" }]),
    ...(transfer === null
      ? []
      : (["ringing", "completed", "busy"] as const).map((progress) => ({
          _tag: "TransferProgressed" as const,
          state: progress,
          reason: null
        }))),
    ...timers
      .filter((timer) => timer !== "max_duration" && timer !== "farewell")
      .map((timer) => ({ _tag: "TimerFired" as const, timer })),
    { _tag: "CallerSpeechStarted" },
    { _tag: "CallerPartial", text: said },
    { _tag: "CallerFinal", text: said },
    { _tag: "CallerEndOfTurn" }
  ]
}

const likelyAct: fc.Arbitrary<Act> = fc
  .tuple(fc.nat(59), words, fc.array(call, { minLength: 1, maxLength: 2 }))
  .map(([n, said, called]) => (state) => {
    const some = candidates(state, said, called)
    return some[n % some.length] ?? { _tag: "CallerEndOfTurn" }
  })

const anyAct: fc.Arbitrary<Act> = fc.oneof(randomAct, { weight: 2, arbitrary: likelyAct })

/** Realistic beginnings, up to a conversation or a menu. */
const beginnings: ReadonlyArray<(conf: CallConfig) => ReadonlyArray<UntimedInput>> = [
  () => [],
  () => [
    { _tag: "MenuAnswered", menu: { rules: rules("Press one.", 1), max_retries: 1 }, warnings: [] },
    { _tag: "Answered" },
    { _tag: "MenuAnswered", menu: { rules: rules("Press one.", 1), max_retries: 1 }, warnings: [] }
  ],
  (conf) => [{ _tag: "ConfigAnswered", config: conf }, { _tag: "Answered" }, { _tag: "ConfigAnswered", config: conf }],
  (conf) => [
    { _tag: "ConfigAnswered", config: conf },
    { _tag: "Answered" },
    { _tag: "ConfigAnswered", config: conf },
    { _tag: "SpeechStarted", id: "u0" },
    { _tag: "SpeechPlayed", id: "u0" },
    { _tag: "CallerFinal", text: "What time is it?" },
    { _tag: "CallerEndOfTurn" }
  ]
]

type Step = (state: Conversation, input: Input) => readonly [Conversation, ReadonlyArray<Command>]

/** Freezes a value deeply, so that a step that mutates its state fails. */
const frozen = <A>(value: A): A => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) frozen(inner)
  }
  return value
}

/** A call in progress. */
export class Played implements History {
  readonly facts: Facts
  readonly first: ReadonlyArray<Command>
  readonly steps: Array<{ readonly input: Input; readonly commands: ReadonlyArray<Command> }> = []
  state: Conversation
  /** The steps before the shell carried out all commands. */
  unsettled: Conversation
  at = 0
  readonly #step: Step

  constructor(given: Facts, stepper: Step = step) {
    this.facts = given
    this.#step = stepper
    const [state, commands] = start(given)
    this.state = frozen(state)
    this.unsettled = this.state
    this.first = commands
  }

  input(untimed: UntimedInput, wait = 0): void {
    this.at += wait
    const input = { ...untimed, at: this.at } as Input // an input with its time
    const [state, commands] = this.#step(this.state, input)
    this.state = frozen(state)
    this.steps.push({ input, commands })
  }

  /** Carries out all pending commands as a correct shell would, and hangs up, in a bounded number of inputs. */
  settle(): this {
    for (let round = 0; round < 100; round++) {
      const { entries, model, phase, timers } = this.state
      if (phase === "over") break
      const speech = entries.flatMap((e) => (e.kind === "agent" ? e.utterances : []))
      const next = speech.find((u) => u.state === "queued" || u.state === "playing")
      const pending = entries.flatMap((e) => (e.kind === "agent" ? e.tools.filter((t) => t.pending) : []))[0]
      if (round > 50 && phase !== "draining" && phase !== "post_call") this.input({ _tag: "CallerHungUp" })
      else if (next !== undefined)
        this.input({ _tag: next.state === "queued" ? "SpeechStarted" : "SpeechPlayed", id: next.id })
      else if (pending !== undefined) this.input({ _tag: "ToolAnswered", id: pending.id, result: 1 })
      else if (model !== null) this.input({ _tag: "ModelFailed", turn: model.turn, reason: "x" })
      else if (timers[0] !== undefined) this.input({ _tag: "TimerFired", timer: timers[0] })
      else this.input({ _tag: "CallerHungUp" })
    }
    return this
  }
}

/** Calls of any configuration with inputs in any order, which a correct shell then brings to their end. */
export const anyCall: fc.Arbitrary<Played> = fc
  .record({
    facts: anyFacts,
    config: anyConfig,
    beginning: fc.oneof(...beginnings.map((inputs, i) => ({ weight: i + 1, arbitrary: fc.constant(inputs) }))),
    acts: fc.array(fc.tuple(fc.constantFrom(0, 20, 100, 3000), anyAct), { maxLength: 60, size: "max" })
  })
  .map(({ acts, beginning, config: conf, facts: given }) => {
    const played = new Played(given)
    for (const input of beginning(conf)) played.input(input)
    for (const [wait, act] of acts) played.input(act(played.state), wait)
    played.unsettled = played.state
    return played.settle()
  })
