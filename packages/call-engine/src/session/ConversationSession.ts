import type { CallAgent } from "@svc/agents/Agents"
import type { EventDraft } from "@svc/api/events/Event"
import { CallId } from "@svc/api/Ids"
import type { Command, CommandOf } from "@svc/conversation/Command"
import { start, step } from "@svc/conversation/Conversation"
import type { Facts, Input, InputOf, UntimedInput } from "@svc/conversation/Input"
import { digest } from "@svc/conversation/Replay"
import { type Conversation, isoTime } from "@svc/conversation/State"
import type { Timer } from "@svc/conversation/Timer"
import { Deferred, Effect, FiberMap, FiberRef, HashMap, Schema, type Scope } from "effect"
import * as AgentServer from "../agent-server/AgentServer.ts"
import { countStep } from "../live/CallMetrics.ts"
import { knowledgeLookUp } from "./CallKnowledge.ts"
import { messageSender } from "./CallMessages.ts"
import type { ConversationServices, Feed } from "./ConversationServices.ts"
import { extraction } from "./Extractor.ts"
import * as Generation from "./Generation.ts"
import { modelPreparation } from "./ModelPreparation.ts"
import { summarizer } from "./Summarizer.ts"
import * as Timers from "./Timers.ts"
import { wellFormed } from "./WellFormed.ts"

/** The call of a session. */
export interface SessionCall {
  /** Numeric id. */
  readonly id: number
  readonly agent: CallAgent
  readonly facts: Facts
  /** The conversation so far, when it continues one that another process began. */
  readonly resumed?: ResumedConversation | undefined
  /** Whether a timer runs; all do by default. */
  readonly runsTimer?: (timer: Timer) => boolean
  /** How long the process has stalled, in milliseconds; timers do not count that time. */
  readonly stalled?: () => number
}

/** A conversation that continues. */
export interface ResumedConversation {
  readonly state: Conversation
  /** The `seq` of the next journal row. */
  readonly seq: number
  /** The time of the conversation at which it continues. */
  readonly at: number
  /** Work that is done again. */
  readonly commands: ReadonlyArray<Command>
}

/** The commands that need a connection to the caller. */
export type ShellCommand = CommandOf<
  | "Answer"
  | "Dial"
  | "Listen"
  | "StopListening"
  | "Speak"
  | "EndSpeech"
  | "StopSpeaking"
  | "ResumeSpeaking"
  | "DropSpeech"
  | "PressKeys"
  | "Transfer"
  | "TransferOver"
  | "Hangup"
>

/** The part of a session that is connected to the caller, by phone or text. */
export interface Shell {
  /** Carries out a command; inputs that follow from it may be fed at once. */
  readonly perform: (command: ShellCommand) => void
  /** Called when the call has been answered, and again when its configuration comes after that. */
  readonly onAnswered: () => void
  /** Called after each step, once its commands have been carried out. */
  readonly onStep?: (commands: ReadonlyArray<Command>) => void
  /** What the media have used until now, and the connection; undefined: there are none. */
  readonly media?: () => Omit<InputOf<"MediaReported">, "_tag" | "at"> | undefined
  /** Drops the caller at once: the session failed or was abandoned. */
  readonly close: () => void
}

/** A conversation that runs in this process. */
export interface ConversationSession {
  readonly feed: Feed
  readonly state: () => Conversation
  /** Whether inputs have no effect any more. */
  readonly isOver: () => boolean
  /** Time since the session began, in milliseconds. */
  readonly now: () => number
  /** Starts a task that ends with the session, in place of a running task of the same name. */
  readonly run: (name: string, task: Effect.Effect<void>) => void
  /** Completes when the caller is gone and extraction begins, which may take a while. */
  readonly extracting: Effect.Effect<void>
  /** Ends the session at once without settling the call: another node has taken it over. */
  readonly abandon: () => void
  /** The final state, or undefined when the session was abandoned. Never fails. */
  readonly over: Effect.Effect<Conversation | undefined>
}

/** Commands after which the journal must be stored soon: they end a turn or have an effect outside the process. */
const urgentTags: ReadonlySet<string> = new Set(["TellTranscript", "InvokeTool", "SendSms", "TransferOver"])

/** How long admission may take, in milliseconds; the clock was set if it seems to be longer. */
const longestAdmissionMs = 10_000

/**
 * Runs a conversation: feeds inputs to `step`, journals them, and carries out commands with the agent's server,
 * language models and timers; commands that need the caller go to the shell. Inputs are taken synchronously, so that a
 * barge-in silences the agent within the frame that reveals it. Everything the session started ends with the scope.
 */
export const make = (
  shared: ConversationServices,
  call: SessionCall,
  shellOf: (session: ConversationSession) => Shell
): Effect.Effect<ConversationSession, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { agent, facts, resumed, runsTimer = () => true, stalled = () => 0 } = call
    const withId = HashMap.set<string, unknown>("call_id", facts.call_id)
    // Work that may outlive the session has its own fibers.
    const services: ConversationServices = {
      ...shared,
      background: (effect) =>
        shared.background(Effect.zipRight(FiberRef.update(FiberRef.currentLogAnnotations, withId), effect))
    }
    const { events, journal } = services
    const clock = yield* Effect.clock
    // The call's time begins when its record does, which admission wrote a little earlier.
    const admitted = clock.unsafeCurrentTimeMillis() - facts.started_at
    const begun = resumed?.at ?? (admitted >= 0 && admitted <= longestAdmissionMs ? admitted : 0)
    const origin = Number(clock.unsafeCurrentTimeNanos()) / 1e6 - begun
    const now = (): number => Math.max(0, Math.round((Number(clock.unsafeCurrentTimeNanos()) / 1e6 - origin) * 10) / 10)
    const over = yield* Deferred.make<Conversation | undefined>()
    const extracting = yield* Deferred.make<void>()
    const tasks = yield* FiberMap.make<string, void>()
    const fork = yield* FiberMap.runtime(tasks)<never>()
    const run = (name: string, task: Effect.Effect<void>): void => {
      fork(
        name,
        Effect.catchAllDefect(task, (defect) => Effect.sync(() => crash(defect)))
      )
    }

    const [firstState, firstCommands] = start(facts)
    let state: Conversation = resumed?.state ?? firstState
    let seq = resumed?.seq ?? 0
    let feeding = false
    const isPhoneCall = Schema.is(CallId)(facts.call_id)
    let abandoned = false
    const pending: Array<UntimedInput> = []

    const record = (input: Facts | Input, commands: ReadonlyArray<Command>): void => {
      const urgent = commands.some(({ _tag }) => urgentTags.has(_tag))
      journal.append({ call_id: call.id, seq: seq++, input, commands: digest(commands) }, urgent)
      for (const command of commands) perform(command)
      shell.onStep?.(commands)
    }

    /** Inputs that arise while commands are carried out wait until all of these have been carried out. */
    const feed: Feed = (untimed) => {
      pending.push(untimed)
      if (feeding) return
      feeding = true
      try {
        for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
          if (isOver()) continue
          const input = wellFormed({ ...next, at: now() } as Input) // an untimed input and its time make an input
          const [after, commands] = step(state, input)
          const before = state
          state = after
          // First: a command may answer the call.
          prepareModel(after, before)
          record(input, commands)
          if (isPhoneCall) countStep(before, after, commands)
          const mayAnswer = input._tag === "Answered" || input._tag === "ConfigAnswered"
          if (mayAnswer && state.answered_at !== null) shell.onAnswered()
        }
      } catch (defect) {
        crash(defect)
      } finally {
        feeding = false
      }
    }

    const isOver = (): boolean => state.phase === "over" || abandoned

    /** After each turn, so that the figures outlive the process. */
    const reportMedia = (): void => {
      const media = shell.media?.()
      if (media !== undefined) feed({ _tag: "MediaReported", ...media })
    }
    /** The last figures of the media: the conversation takes them, and nothing else, also when it is over. */
    const reportMediaAtEnd = (): void => {
      const media = shell.media?.()
      if (media === undefined) return
      const input = wellFormed({ _tag: "MediaReported" as const, ...media, at: now() })
      const [after, commands] = step(state, input)
      state = after
      journal.append({ call_id: call.id, seq: seq++, input, commands: digest(commands) }, false)
    }

    /** Ends this call, and no other, after a defect. */
    const crash = (defect: unknown): void => {
      services.report(facts.call_id, defect)
      const [after, commands] = step(state, { _tag: "Crashed", at: now(), reason: String(defect) })
      state = after
      for (const command of commands) if (command._tag === "Emit") events.emit(envelope(command))
      shell.close()
      reportMediaAtEnd()
      Deferred.unsafeDone(over, Effect.succeed(state))
    }

    const envelope = ({ at, data, event }: CommandOf<"Emit">): EventDraft =>
      ({
        event,
        data,
        org_id: agent.org_id,
        project_id: agent.project_id,
        agent_id: facts.agent_id,
        call_id: facts.call_id,
        timestamp: isoTime(state, at)
      }) as EventDraft // event and data come from one member of the union

    const timers = yield* Timers.make<Timer>({
      now,
      // A call is never longer than it may be.
      stalled: (timer) => (timer === "max_duration" ? 0 : stalled()),
      onFired: (timer) => feed({ _tag: "TimerFired", timer })
    })
    const variables = { from: facts.from ?? "", to: facts.to ?? "", call_id: facts.call_id }
    const generation = yield* Generation.make({
      callId: facts.call_id,
      models: services.models,
      variables,
      now,
      listener: {
        onStarted: (turn) => feed({ _tag: "ModelStarted", turn }),
        onSentence: (turn, text, space) =>
          feed({ _tag: "ModelSentence", turn, text, ...(space === undefined ? {} : { space }) }),
        onToolCalls: (turn, calls) => feed({ _tag: "ModelToolCalls", turn, calls: [...calls] }),
        onUsage: (usage) => feed({ _tag: "ModelUsed", ...usage }),
        onDone: (turn, cut) => feed({ _tag: "ModelDone", turn, ...(cut === undefined ? {} : { cut }) }),
        onFailed: (turn, reason) => feed({ _tag: "ModelFailed", turn, reason })
      }
    })
    const agentServer = AgentServer.make({ callId: call.id, agent, facts, services, feed })
    const sendSms = messageSender({ agent, facts, services, feed })
    const prepareModel = modelPreparation({
      callId: facts.call_id,
      models: services.models,
      run: (task) => run("prepare", task),
      onWarning: (reason) => feed({ _tag: "ProviderWarned", stage: "language-model", reason })
    })
    const lookUp = knowledgeLookUp({ agent, facts, knowledge: services.knowledge, now, feed })
    if (facts.knowledge === true) services.background(services.knowledge.prepare(agent))
    const summarize = summarizer({ callId: facts.call_id, models: services.models, variables, feed })
    const extract = extraction({ callId: facts.call_id, models: services.models, variables, feed })

    const perform = (command: Command): void => {
      switch (command._tag) {
        case "FetchConfig":
          run("config", agentServer.fetchConfig(command))
          return
        case "AskModel":
          generation.ask(command)
          return
        case "AskAhead":
          generation.askAhead(command)
          return
        case "DropAhead":
          generation.dropAhead()
          return
        case "CancelModel":
          generation.cancel()
          return
        case "InvokeTool":
          run(`tool:${command.id}`, agentServer.invokeTool(command))
          return
        case "CancelTool":
          run(`tool:${command.id}`, Effect.void)
          return
        case "SendSms":
          run(`tool:${command.id}`, sendSms(command))
          return
        case "LookUp":
          run(command.purpose === "tool" ? `tool:${command.id}` : "knowledge", lookUp(command))
          return
        case "StartTimer":
          if (runsTimer(command.timer)) timers.start(command.timer, command.ms)
          return
        case "StopTimer":
          timers.stop(command.timer)
          return
        case "Emit":
          events.emit(envelope(command))
          return
        case "TellTranscript":
          agentServer.sendTranscript(command)
          if (command.role === "assistant") reportMedia()
          return
        case "Summarize":
          run("summary", summarize(command))
          return
        case "Extract":
          Deferred.unsafeDone(extracting, Effect.void)
          run("extraction", extract(command))
          return
        case "Note":
          services.background(Effect.logWarning(`Call ${facts.call_id}: ${command.text}`))
          return
        case "Finish":
          reportMediaAtEnd()
          Deferred.unsafeDone(over, Effect.succeed(state))
          return
        default:
          shell.perform(command)
      }
    }

    const session: ConversationSession = {
      feed,
      state: () => state,
      isOver,
      now,
      run,
      extracting: Deferred.await(extracting),
      abandon: () => {
        abandoned = true
        shell.close()
        Deferred.unsafeDone(over, Effect.as(Effect.void, undefined))
      },
      over: Deferred.await(over)
    }
    const shell = shellOf(session)
    if (resumed === undefined) record(facts, firstCommands)
    else {
      prepareModel(state, undefined)
      for (const command of resumed.commands) perform(command)
    }
    return session
  })
