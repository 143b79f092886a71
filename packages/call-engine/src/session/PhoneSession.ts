import { type LineFigures, noLine, noUsage } from "@svc/api/calls/CallUsage"
import type { GatherRules } from "@svc/conversation/answers/GatherRules"
import { needsPartials } from "@svc/conversation/Conversation"
import * as Gather from "@svc/conversation/machines/Gather"
import { metadataOf } from "@svc/conversation/machines/Outbound"
import * as Speculation from "@svc/conversation/machines/Speculation"
import { type Conversation, isTransferring } from "@svc/conversation/State"
import type { AudioFormat } from "@svc/providers/Audio"
import type { CallLeg, DialFailed, IncomingCall } from "@svc/providers/Telephony"
import { Deferred, Effect, FiberId, Scope } from "effect"
import type { CallRecording } from "../recording/Recorder.ts"
import * as Announcement from "./Announcement.ts"
import * as AnsweredLeg from "./AnsweredLeg.ts"
import { CallScreen } from "./CallScreen.ts"
import * as CallTransfer from "./CallTransfer.ts"
import * as ConversationSession from "./ConversationSession.ts"
import * as Direction from "./Direction.ts"
import { prepareOpening } from "./OpeningSpeech.ts"
import type { PhoneServices } from "./PhoneServices.ts"
import type { PreparedSpeech } from "./SpeechOutput.ts"

/** A phone call that is live in this process. */
export interface PhoneSession {
  /** Asks the conversation to end, which may first say its farewell. */
  readonly end: (by: "api" | "shutdown") => void
  /**
   * Asks the caller for digits unless another gather is under way. Synchronous: of several requests one is `accepted`.
   */
  readonly gather: (rules: GatherRules) => "accepted" | "already-active" | "not-in-progress"
  /**
   * Starts a transfer, synchronously; the effect completes with the network's outcome: null, or why it failed. Of
   * several requests one gets an effect.
   */
  readonly transfer: (destination: string) => Effect.Effect<string | null> | "already-active" | "not-in-progress"
  /** Whether the call has been answered and has not ended. */
  readonly isInProgress: () => boolean
  /** Whether the caller is gone, and the record waits for the final transcript, extraction or `post_call_sms`. */
  readonly isCompleting: () => boolean
  /** Completes when the caller is gone and extraction begins, which may take a while. */
  readonly extracting: Effect.Effect<void>
  /** Ends the call at once without settling it: another node has taken it over. */
  readonly abandon: () => void
  /** The call's recording, which ends with the session's scope; undefined when none was configured or begun. */
  readonly recording: () => CallRecording | undefined
  /** The call's line, also after its end; undefined: it was not answered. */
  readonly line: () => LineFigures | undefined
  /** The conversation's final state, or undefined when the call was abandoned. Never fails. */
  readonly over: Effect.Effect<Conversation | undefined>
}

/** The call of a phone session. */
export interface PhoneCall extends ConversationSession.SessionCall {
  readonly connection: IncomingCall | Direction.OutboundDial
  /** The audio formats that a leg may have. */
  readonly formats: ReadonlyArray<AudioFormat>
  /** What places a second leg for a transfer; absent: nothing can. */
  readonly secondLeg?: CallTransfer.SecondLegNetwork | undefined
  /** Why the caller must not be transferred to a number, as text that follows its name; null: they may. Absent: to any. */
  readonly refusalOf?: (destination: string) => string | null
}

/** The reason of a failed call, for its operator. */
const advised = ({ advice, reason }: DialFailed): string => (advice === undefined ? reason : `${reason}; ${advice}`)

/** The usage of speech of a call that was not answered: none. */
const noSpeech = { stt: noUsage.stt, tts: noUsage.tts }

/** Runs a conversation over a call leg: answers or dials, hears, speaks, records, transfers and hangs up. */
export const make = (services: PhoneServices, call: PhoneCall): Effect.Effect<PhoneSession, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { agent, facts } = call
    const direction = Direction.of(call.connection, { callId: facts.call_id, formats: call.formats })
    const scope = yield* Effect.scope
    let leg: CallLeg | undefined
    let answered: AnsweredLeg.AnsweredLeg | undefined
    let recording: CallRecording | undefined
    let moving: CallTransfer.CallTransfer | undefined
    /** Undefined: the phone has none. */
    let screen: CallScreen | undefined
    /** The outcome of the transfer that was requested through the API. */
    let transfer: Deferred.Deferred<string | null> | undefined

    /** Why the caller must not be transferred there. */
    const refusalOf = (destination: string): string | null => {
      const refusal = call.refusalOf?.(destination) ?? null
      if (refusal === null) return null
      const logged = Effect.logWarning(`A transfer was refused: the destination ${refusal}`)
      services.background(Effect.annotateLogs(logged, "call_id", facts.call_id))
      return `the destination ${refusal}`
    }

    /** Ends the call, whether it was answered or not. */
    const hangup = (session: ConversationSession.ConversationSession, reason: string): void => {
      recording?.stop()
      moving?.end(reason)
      if (answered !== undefined) answered.hangup(reason)
      else if (leg !== undefined) leg.hangup(reason)
      else {
        direction.reject(reason)
        // Interrupts the ringing.
        if (facts.outbound !== undefined) session.run("answer", Effect.void)
      }
    }

    const connect = (
      session: ConversationSession.ConversationSession,
      connected: CallLeg,
      prepared: PreparedSpeech | null
    ): Effect.Effect<void, never, Scope.Scope> =>
      Effect.gen(function* () {
        leg = connected
        services.expectedRate.hz = connected.format.sampleRate
        // The call ended while the network connected it.
        if (session.isOver()) return connected.hangup("given up")
        yield* Effect.addFinalizer(() => Effect.sync(() => recording?.stop()))
        answered = yield* AnsweredLeg.connect({
          callId: facts.call_id,
          leg: connected,
          services,
          feed: session.feed,
          now: session.now,
          prepared,
          needsPartials: () => needsPartials(session.state()),
          pauseOf: () => Speculation.pauseOf(session.state()),
          awaitsSilence: () => session.state().interruption?.certain === false,
          isOutbound: facts.outbound !== undefined,
          needsBeep: () => session.state().voicemail !== "person",
          needsVerdict: () => session.state().voicemail === "unknown"
        })
        if (connected.show !== undefined) screen = new CallScreen(connected.show)
        const { onEvent } = answered
        const transfers = CallTransfer.make({
          leg: connected,
          network: call.secondLeg,
          ticker: services.ticker,
          announce: (leg, text) =>
            Announcement.begin({ callId: facts.call_id, leg, text, voice: agent.voice, services }),
          feed: session.feed,
          run: (task) => session.run("transfer", task)
        })
        moving = transfers
        yield* Effect.addFinalizer(() => Effect.sync(() => transfers.end("error")))
        connected.listen((event) => {
          if (!transfers.takes(event)) onEvent(event)
        })
        session.feed({ _tag: "Answered" })
        answered.onAnswered()
        // The line is known from now on, and not only after the first turn.
        session.feed({ _tag: "MediaReported", ...answered.used(), line: answered.line() })
      })

    /** Answers or dials. */
    const open = (session: ConversationSession.ConversationSession) =>
      Effect.flatMap(
        facts.outbound === undefined ? prepareOpening(services, session) : Effect.succeed(null),
        (prepared) =>
          session.state().phase !== "answering"
            ? Effect.void
            : Effect.matchEffect(direction.leg, {
                onSuccess: (connected) => connect(session, connected, prepared),
                onFailure: (failed) =>
                  Effect.sync(() =>
                    session.feed(
                      failed._tag === "DialFailed"
                        ? { _tag: "DialFailed", outcome: failed.outcome, reason: advised(failed) }
                        : {
                            _tag: "AnswerFailed",
                            reason: failed.reason,
                            ...(failed.failed === true ? { failed: true } : {})
                          }
                    )
                  )
              })
      )

    const markAnswered = (session: ConversationSession.ConversationSession): void => {
      const state = session.state()
      if (state.answered_at === null) return
      const wanted = state.config !== null && (state.config.recording_enabled ?? agent.recording)
      if (wanted && recording === undefined && leg !== undefined) {
        recording = services.recorder.begin(facts.call_id, leg.format, (reason) =>
          session.feed({ _tag: "RecordingFailed", reason })
        )
        answered?.record(recording)
      }
      services.answered.mark({
        call_id: call.id,
        answered_at: new Date(facts.started_at + state.answered_at),
        metadata: metadataOf(state),
        recording_enabled: recording !== undefined
      })
    }

    const shellOf = (session: ConversationSession.ConversationSession): ConversationSession.Shell => ({
      onAnswered: () => markAnswered(session),
      onStep: () => screen?.update(session.state()),
      close: () => hangup(session, "error"),
      media: () => {
        if (answered === undefined) {
          const carrier_call_id = AnsweredLeg.carrierIdOf(direction.carrierCallId())
          return carrier_call_id === null ? undefined : { ...noSpeech, line: { ...noLine, carrier_call_id } }
        }
        const { stt, tts } = answered.used()
        const { cached_characters, characters } = moving?.used() ?? { characters: 0, cached_characters: 0 }
        return {
          stt,
          tts: {
            characters: tts.characters + characters,
            cached_characters: tts.cached_characters + cached_characters
          },
          line: answered.line()
        }
      },
      perform: (command) => {
        switch (command._tag) {
          case "Answer":
          case "Dial":
            session.run("answer", Scope.extend(open(session), scope))
            return
          case "Listen":
            answered?.listen(command)
            return
          case "StopListening":
            if (answered === undefined) session.feed({ _tag: "RecognizerFinished" })
            else answered.stopListening()
            return
          case "Speak": {
            const preferred = session.state().config?.voice ?? agent.voice
            answered?.speech.speak({
              ...command,
              voice: services.resolveVoice(command.voice, command.language, preferred)
            })
            return
          }
          case "StopSpeaking":
            if (answered === undefined) session.feed({ _tag: "SpeechCleared", cuts: [] })
            else answered.stopSpeaking(command.hold)
            return
          case "EndSpeech":
            answered?.speech.end(command.turn)
            return
          case "ResumeSpeaking":
            answered?.speech.resume()
            return
          case "DropSpeech":
            answered?.speech.drop()
            return
          case "PressKeys":
            if (answered?.pressKeys(command.digits) !== true)
              session.feed({ _tag: "ToolAnswered", id: command.id, result: { error: "This line cannot send keys." } })
            return
          case "Transfer": {
            const refusal = refusalOf(command.destination)
            if (refusal === null) moving?.start(command.destination, command.announcement)
            else session.feed({ _tag: "TransferProgressed", state: "failed", reason: refusal })
            return
          }
          case "TransferOver":
            if (command.failure_reason === null) {
              recording?.stop()
              answered?.detach()
            } else moving?.cancel()
            if (transfer !== undefined) Deferred.unsafeDone(transfer, Effect.succeed(command.failure_reason))
            transfer = undefined
            return
          case "Hangup":
            hangup(session, command.reason)
            return
        }
      }
    })

    const session = yield* ConversationSession.make(services, { ...call, stalled: services.ticker.stalled }, shellOf)
    session.run(
      "canceled",
      Effect.map(direction.canceled, () => session.feed({ _tag: "CallerHungUp" }))
    )

    return {
      end: (by) => session.feed({ _tag: "EndRequested", by }),
      gather: (rules) => {
        const state = session.state()
        if (state.phase !== "live" && state.phase !== "menu") return "not-in-progress"
        if (isTransferring(state)) return "not-in-progress"
        // A menu is a gather, and the conversation after it has not begun.
        if (state.phase === "menu" || Gather.isActive(state)) return "already-active"
        session.feed({ _tag: "GatherRequested", rules })
        return "accepted"
      },
      transfer: (destination) => {
        const state = session.state()
        if (state.phase !== "live") return "not-in-progress"
        if (isTransferring(state)) return "already-active"
        const refusal = refusalOf(destination)
        if (refusal !== null) return Effect.succeed(refusal)
        const outcome = Deferred.unsafeMake<string | null>(FiberId.none)
        transfer = outcome
        session.feed({ _tag: "TransferRequested", destination })
        // A call that was abandoned or crashed gives no outcome.
        return Effect.raceFirst(Deferred.await(outcome), Effect.as(session.over, "the call ended"))
      },
      isInProgress: () => session.state().answered_at !== null && session.state().ended_at === null,
      isCompleting: () => session.state().phase === "draining" || session.state().phase === "post_call",
      extracting: session.extracting,
      abandon: session.abandon,
      recording: () => recording,
      line: () => answered?.line(),
      over: session.over
    }
  })
