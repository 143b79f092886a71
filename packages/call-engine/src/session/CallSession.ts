import type { CallAgent } from "@svc/agents/Agents"
import type { EventDraft } from "@svc/api/events/Event"
import type { GatherRules } from "@svc/conversation/answers/GatherRules"
import type { Command, CommandOf } from "@svc/conversation/Command"
import { type Conversation, heedsPartial, start, step } from "@svc/conversation/Conversation"
import type { Facts, Input, UntimedInput } from "@svc/conversation/Input"
import * as Gather from "@svc/conversation/machines/Gather"
import { metadataOf } from "@svc/conversation/machines/Outbound"
import * as Transfer from "@svc/conversation/machines/Transfer"
import { digest } from "@svc/conversation/Replay"
import { isoTime } from "@svc/conversation/State"
import type { Timer } from "@svc/conversation/Timer"
import type { AudioFormat } from "@svc/providers/Audio"
import type { CallLeg, IncomingCall } from "@svc/providers/Telephony"
import { Deferred, Effect, FiberId, FiberMap, Scope } from "effect"
import * as AgentServer from "../agent-server/AgentServer.ts"
import type { CallRecording } from "../recording/Recorder.ts"
import * as Way from "./Direction.ts"
import * as Duties from "./Duties.ts"
import * as Thinker from "./Generation.ts"
import * as Line from "./Line.ts"
import type { SessionServices } from "./SessionServices.ts"
import * as Timers from "./Timers.ts"
import { wellFormed } from "./WellFormed.ts"

/** Commands whose input must survive whatever happens next. */
const urgentTags: ReadonlySet<string> = new Set(["TellTranscript", "InvokeTool", "SendSms", "TransferOver"])

const nothing: Effect.Effect<undefined> = Effect.as(Effect.void, undefined)

/** A live call, as the rest of the engine sees it. */
export interface CallSession {
  /** Asks for the end; the call may first say its farewell. */
  readonly end: (by: "api" | "shutdown") => void
  /** Asks the caller for digits, once no other gather is under way. Synchronous: of many at once, one is `accepted`. */
  readonly gather: (rules: GatherRules) => "accepted" | "already-active" | "not-in-progress"
  /**
   * Asks for a transfer. Synchronous: of many at once, one is told its outcome, which comes when the network gives it:
   * null, or why it failed.
   */
  readonly transfer: (destination: string) => Effect.Effect<string | null> | "already-active" | "not-in-progress"
  /** Whether the call has been answered and is not over. */
  readonly inProgress: () => boolean
  /** Whether nobody is on the line any more, and something is still to be done before its record is complete. */
  readonly lingers: () => boolean
  /** Completes if that may take a while. */
  readonly lingering: Effect.Effect<void>
  /** Lets go of the call at once, without settling it: another node has taken it over. */
  readonly abandon: () => void
  /** The call's recording, which ends with the session's scope; undefined when none was wanted or begun. */
  readonly recording: () => CallRecording | undefined
  /** The conversation when it is over, or undefined when it was abandoned. Never fails. */
  readonly over: Effect.Effect<Conversation | undefined>
}

/** What a session needs to know of its call. */
export interface SessionCall {
  readonly id: number
  readonly incoming: IncomingCall | Way.Outgoing
  readonly agent: CallAgent
  readonly facts: Facts
  readonly formats: ReadonlyArray<AudioFormat>
}

/**
 * The shell around a conversation: tells it what happens and carries out what it commands, with the providers. The only
 * place where the two worlds meet. Inputs are taken in synchronously, so a barge-in silences the agent within the very
 * frame that shows it; everything that was started dies with the scope.
 */
export const make = (services: SessionServices, call: SessionCall): Effect.Effect<CallSession, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { agent, facts } = call
    const way = Way.of(call.incoming, { callId: facts.call_id, formats: call.formats })
    const { journal, providers, recorder } = services
    const clock = yield* Effect.clock
    const origin = Number(clock.unsafeCurrentTimeNanos()) / 1e6
    const over = yield* Deferred.make<Conversation | undefined>()
    const lingering = yield* Deferred.make<void>()
    const tasks = yield* FiberMap.make<string, void>()
    const run = yield* FiberMap.runtime(tasks)<never>()
    /** Starts something that belongs to the call, in place of what has the same name. */
    const task = (name: string, effect: Effect.Effect<void>): void => {
      run(
        name,
        Effect.catchAllDefect(effect, (defect) => Effect.sync(() => crash(defect)))
      )
    }

    const [firstState, firstCommands] = start(facts)
    let state: Conversation = firstState
    let seq = 0
    let feeding = false
    let abandoned = false
    let leg: CallLeg | undefined
    let line: Line.Line | undefined
    let recording: CallRecording | undefined
    /** How the transfer goes that was asked for through the API. */
    let transfer: Deferred.Deferred<string | null> | undefined
    const pending: Array<UntimedInput> = []

    const now = (): number => Math.max(0, Math.round((Number(clock.unsafeCurrentTimeNanos()) / 1e6 - origin) * 10) / 10)

    const record = (input: Facts | Input, commands: ReadonlyArray<Command>): void => {
      // A finished turn must survive whatever happens next; the rest may be written together a little later.
      const urgent = commands.some(({ _tag }) => urgentTags.has(_tag))
      journal.append({ call_id: call.id, seq: seq++, input, commands: digest(commands) }, urgent)
      for (const command of commands) perform(command)
    }

    /** Tells the conversation; inputs that come up while commands are carried out wait their turn. */
    const feed = (untimed: UntimedInput): void => {
      pending.push(untimed)
      if (feeding) return
      feeding = true
      try {
        for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
          if (state.phase === "over" || abandoned) continue
          const input = wellFormed({ ...next, at: now() } as Input)
          const [after, commands] = step(state, input)
          state = after
          record(input, commands)
          // After a menu the configuration comes second.
          if (input._tag === "Answered" || input._tag === "ConfigAnswered") noteAnswered()
        }
      } catch (defect) {
        crash(defect)
      } finally {
        feeding = false
      }
    }

    const noteAnswered = (): void => {
      if (state.answered_at === null) return
      const wanted = state.config !== null && (state.config.recording_enabled ?? agent.recording)
      if (wanted && recording === undefined && leg !== undefined) {
        recording = recorder.begin(facts.call_id, leg.format)
        line?.record(recording)
      }
      const answered_at = new Date(facts.started_at + state.answered_at)
      journal.answered({
        call_id: call.id,
        answered_at,
        metadata: metadataOf(state),
        recording_enabled: recording !== undefined
      })
    }

    /** A fault of ours ends this call, and no other. */
    const crash = (defect: unknown): void => {
      services.report(`call ${facts.call_id} failed inside`, defect)
      const input: Input = { _tag: "Crashed", at: now(), reason: String(defect) }
      const [after, commands] = step(state, input)
      state = after
      for (const command of commands) if (command._tag === "Emit") journal.emit(envelope(command))
      hangup("error")
      Deferred.unsafeDone(over, Effect.succeed(state))
    }

    const timers = yield* Timers.make<Timer>({ now, onFired: (timer) => feed({ _tag: "TimerFired", timer }) })
    const variables = { from: facts.from ?? "", to: facts.to ?? "", call_id: facts.call_id }
    const thinker = yield* Thinker.make({
      callId: facts.call_id,
      models: providers.languageModel,
      variables,
      listener: {
        onStarted: (turn) => feed({ _tag: "ModelStarted", turn }),
        onSentence: (turn, text) => feed({ _tag: "ModelSentence", turn, text }),
        onToolCalls: (turn, calls) => feed({ _tag: "ModelToolCalls", turn, calls: [...calls] }),
        onDone: (turn) => feed({ _tag: "ModelDone", turn }),
        onFailed: (turn, reason) => feed({ _tag: "ModelFailed", turn, reason })
      }
    })

    const connect = (answered: CallLeg): Effect.Effect<void, never, Scope.Scope> =>
      Effect.gen(function* () {
        leg = answered
        // Given up in the very moment.
        if (state.phase === "over" || abandoned) return answered.hangup("given up")
        yield* Effect.addFinalizer(() => Effect.sync(() => recording?.stop()))
        line = yield* Line.connect({
          callId: facts.call_id,
          leg: answered,
          services,
          feed,
          now,
          heedsPartial: () => heedsPartial(state),
          isOutbound: facts.outbound !== undefined,
          heedsBeep: () => state.voicemail !== "person"
        })
        answered.listen(line.onLeg)
        feed({ _tag: "Answered" })
      })

    const server = AgentServer.make({
      callId: call.id,
      agent,
      facts,
      services,
      feed
    })

    const owed = Duties.make({ agent, facts, services, feed, variables })

    const answer = Effect.matchEffect(way.leg, {
      onSuccess: connect,
      onFailure: (failed) =>
        Effect.sync(() =>
          feed(
            failed._tag === "DialFailed"
              ? { _tag: "DialFailed", outcome: failed.outcome, reason: failed.reason }
              : { _tag: "AnswerFailed", reason: failed.reason }
          )
        )
    })
    /** Ends the call, as far as it has come. */
    const hangup = (reason: string): void => {
      recording?.stop()
      if (line !== undefined) line.hangup(reason)
      else if (leg !== undefined) leg.hangup(reason)
      else {
        way.refuse(reason)
        if (facts.outbound !== undefined) task("answer", Effect.void)
      }
    }

    const preferredVoice = (): string => state.config?.voice ?? agent.voice
    const scope = yield* Effect.scope
    const perform = (command: Command): void => {
      switch (command._tag) {
        case "FetchConfig":
          task("config", server.fetchConfig(command))
          return
        case "Answer":
        case "Dial":
          task("answer", Scope.extend(answer, scope))
          return
        case "Listen":
          line?.listen(command)
          return
        case "StopListening":
          if (line === undefined) feed({ _tag: "RecognizerFinished" })
          else line.stopListening()
          return
        case "Speak":
          line?.speak({ ...command, voice: services.voiceNamed(command.voice, command.language, preferredVoice()) })
          return
        case "StopSpeaking":
          if (line === undefined) feed({ _tag: "SpeechCleared", cuts: [] })
          else line.silence()
          return
        case "AskModel":
          thinker.ask(command)
          return
        case "CancelModel":
          thinker.cancel()
          return
        case "InvokeTool":
          task(`tool:${command.id}`, server.invokeTool(command))
          return
        case "CancelTool":
          task(`tool:${command.id}`, Effect.void)
          return
        case "StartTimer":
          timers.start(command.timer, command.ms)
          return
        case "StopTimer":
          timers.stop(command.timer)
          return
        case "Emit":
          journal.emit(envelope(command))
          return
        case "TellTranscript":
          server.tellTranscript(command)
          return
        case "Transfer":
          line?.transfer(command.destination)
          return
        case "TransferOver":
          if (command.failure_reason === null) {
            recording?.stop()
            line?.leave()
          }
          if (transfer !== undefined) Deferred.unsafeDone(transfer, Effect.succeed(command.failure_reason))
          transfer = undefined
          return
        case "Hangup":
          hangup(command.reason)
          return
        case "SendSms":
          task(`tool:${command.id}`, owed.sendSms(command))
          return
        case "Extract":
          Deferred.unsafeDone(lingering, Effect.void)
          task("extraction", owed.extract(command))
          return
        case "Note":
          services.background(Effect.logWarning(`Call ${facts.call_id}: ${command.text}`))
          return
        case "Finish":
          Deferred.unsafeDone(over, Effect.succeed(state))
          return
      }
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

    record(facts, firstCommands)
    task(
      "canceled",
      Effect.map(way.canceled, () => feed({ _tag: "CallerHungUp" }))
    )

    return {
      end: (by) => feed({ _tag: "EndRequested", by }),
      gather: (rules) => {
        if (state.phase !== "live" && state.phase !== "menu") return "not-in-progress"
        if (Transfer.isActive(state)) return "not-in-progress"
        // A menu is a gather, and what follows it is not there yet.
        if (state.phase === "menu" || Gather.isActive(state)) return "already-active"
        feed({ _tag: "GatherRequested", rules })
        return "accepted"
      },
      transfer: (destination) => {
        if (state.phase !== "live") return "not-in-progress"
        if (Transfer.isActive(state)) return "already-active"
        const outcome = Deferred.unsafeMake<string | null>(FiberId.none)
        transfer = outcome
        feed({ _tag: "TransferRequested", destination })
        // A call that was abandoned or broke inside tells nothing more.
        return Effect.raceFirst(Deferred.await(outcome), Effect.as(Deferred.await(over), "the call ended"))
      },
      inProgress: () => state.answered_at !== null && state.ended_at === null,
      lingers: () => state.phase === "draining" || state.phase === "after",
      lingering: Deferred.await(lingering),
      abandon: () => {
        abandoned = true
        hangup("error")
        Deferred.unsafeDone(over, nothing)
      },
      recording: () => recording,
      over: Deferred.await(over)
    }
  })
