import type { CallUsage } from "@svc/api/calls/CallUsage"
import type { UntimedInput } from "@svc/conversation/Input"
import { type AudioFormat, legFormats } from "@svc/providers/Audio"
import {
  type BridgeFailed,
  type CallEvent,
  type CallLeg,
  DialFailed,
  type DialProgress,
  type OutgoingCall,
  transferOutcomeMs
} from "@svc/providers/Telephony"
import { Effect, type Scope } from "effect"
import type { FrameWheel } from "../media/FrameWheel.ts"
import { LegBridge } from "../media/LegBridge.ts"
import { Ringback } from "../media/Ringback.ts"
import type { Announcement, AnnouncementText } from "./Announcement.ts"
import type { Feed } from "./ConversationServices.ts"

/** How a call reaches a third party: the network of its own number, if that can place calls. */
export interface SecondLegNetwork {
  readonly dial: (
    call: Pick<OutgoingCall, "to" | "formats">,
    progress: DialProgress
  ) => Effect.Effect<CallLeg, DialFailed>
  /** Joins the two legs in their network; absent: the engine does. */
  readonly bridge?: (one: CallLeg, other: CallLeg) => Effect.Effect<void, BridgeFailed>
}

/** The transfer of an answered call. */
export interface CallTransfer {
  /** Transfers the caller; the progress is fed back. With an announcement by a second leg, if there can be one. */
  readonly start: (destination: string, announcement?: AnnouncementText) => void
  /**
   * Takes an event of the caller's leg, before the conversation does. True: it is not for the conversation, because the caller
   * talks with the destination, or because the engine now dials the destination itself.
   */
  readonly takes: (event: CallEvent) => boolean
  /** The transfer has failed, or is not wanted any more. */
  readonly cancel: () => void
  /** The call ends, and with it the second leg. */
  readonly end: (reason: string) => void
  /** What announcements have used of text-to-speech. */
  readonly used: () => CallUsage["tts"]
}

interface TransferOptions {
  readonly leg: CallLeg
  /** Undefined: the call cannot have a second leg. */
  readonly network: SecondLegNetwork | undefined
  readonly ticker: { readonly wheel: FrameWheel; readonly now: () => number }
  readonly feed: Feed
  /** Begins to say an announcement to a leg. */
  readonly announce: (leg: CallLeg, text: AnnouncementText) => Effect.Effect<Announcement, never, Scope.Scope>
  /** Runs a task in place of the one before; see `ConversationSession.run`. */
  readonly run: (task: Effect.Effect<void>) => void
}

type Progressed = Extract<UntimedInput, { readonly _tag: "TransferProgressed" }>

/** The formats of a second leg: best is that of the first, which needs no conversion. */
const formatsFor = ({ format }: CallLeg): ReadonlyArray<AudioFormat> => [
  format,
  ...legFormats.filter(({ encoding, sampleRate }) => encoding !== format.encoding || sampleRate !== format.sampleRate)
]

/**
 * Transfers the caller of one leg.
 *
 * | transfer | the network of the leg | then |
 * |---|---|---|
 * | with an announcement | any | attended: a second leg is dialled, and the agent speaks to it before it is joined |
 * | without, or no network can dial | transfers | blind: the network connects the two parties |
 * | without | does not transfer, or refuses to | bridged: a second leg is dialled, and joined when it is answered |
 * | any, and no network can dial | does not transfer, or refuses to | the transfer fails |
 *
 * | a second leg | on | then |
 * |---|---|---|
 * | rings | the caller hangs up, the transfer is given up | it stops ringing |
 * | rings | it is not answered within {@link transferOutcomeMs} of the request | the transfer fails: no answer |
 * | is answered | it ends before it is joined | the transfer fails: rejected, if it heard the announcement |
 * | hears the announcement | the caller hangs up | it is hung up |
 * | is joined | one of the two ends | the other is hung up: the call is over |
 */
export const make = ({ announce, feed, leg, network, run, ticker }: TransferOptions): CallTransfer => {
  let ringback: Ringback | undefined
  let second: CallLeg | undefined
  let bridge: LegBridge | undefined
  let announcement: Announcement | undefined
  /** The destination hears an announcement before it is joined. */
  let isAnnounced = false
  const used = { characters: 0, cached_characters: 0 }
  /** The two parties are connected, by the engine or by the network. */
  let isJoined = false
  /** The transfer that the leg's network was asked for, until its outcome. */
  let blind: { readonly destination: string; readonly at: number } | undefined
  let isDialling = false
  let isOver = false

  const feedProgress = (state: Progressed["state"], reason: string | null = null): void =>
    feed({ _tag: "TransferProgressed", state, reason })

  const hangUpSecond = (reason: string): void => {
    ringback?.stop()
    bridge?.stop()
    const ended = second
    ringback = undefined
    bridge = undefined
    second = undefined
    isJoined = false
    ended?.hangup(reason)
  }

  const onSecond = (of: CallLeg, event: CallEvent): void => {
    if (second !== of) return
    if (event._tag !== "Ended") {
      announcement?.onEvent(event)
      bridge?.fromOther(event)
      return
    }
    const wasJoined = isJoined
    hangUpSecond("the destination ended the call")
    if (!wasJoined && isAnnounced) feedProgress("rejected", "the destination hung up during the announcement")
    else if (!wasJoined) feedProgress("failed", event.reason ?? "the destination hung up at once")
    else if (event.cause === "hangup") feed({ _tag: "CallerHungUp" })
    else feed({ _tag: "LegFailed", reason: event.reason ?? "the connection to the destination broke" })
  }

  /** The destination answered: joins the two legs, in their network if it can. */
  const join = (answered: CallLeg, bridgeInNetwork: SecondLegNetwork["bridge"]): Effect.Effect<void> =>
    Effect.gen(function* () {
      const inNetwork =
        bridgeInNetwork !== undefined &&
        (yield* bridgeInNetwork(leg, answered).pipe(
          Effect.as(true),
          Effect.catchAll(({ reason }) =>
            Effect.as(Effect.logDebug(`The engine joins two legs, because the network did not: ${reason}`), false)
          )
        ))
      // It ended meanwhile.
      if (second !== answered) return
      if (!inNetwork) bridge = new LegBridge(leg, answered, ticker)
      isJoined = true
      feedProgress("completed")
    })

  /** Says the announcement to the destination, which may hang up meanwhile. */
  const sayTo = (answered: CallLeg, text: AnnouncementText): Effect.Effect<void> =>
    Effect.scoped(
      Effect.gen(function* () {
        const saying = yield* announce(answered, text)
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            announcement = undefined
            used.characters += saying.used().characters
            used.cached_characters += saying.used().cached_characters
          })
        )
        announcement = saying
        yield* saying.over
      })
    )

  /** Dials the destination. `ms`: how long it may ring. */
  const dial = (
    destination: string,
    { bridge, dial }: SecondLegNetwork,
    ms: number,
    text?: AnnouncementText
  ): Effect.Effect<void> => {
    const waiting = new Ringback(leg, ticker)
    ringback = waiting
    let isRinging = false
    /** The leg, once the destination has answered; hung up when the transfer is given up at that moment. */
    let answeredLeg: CallLeg | undefined
    isDialling = true
    isAnnounced = text !== undefined
    const progress: DialProgress = {
      onRinging: () => {
        if (isRinging || isOver) return
        isRinging = true
        waiting.ring()
        feedProgress("ringing")
      },
      onEarlyMedia: (payload, format) => waiting.play(payload, format)
    }
    const dialled = dial({ to: destination, formats: formatsFor(leg) }, progress).pipe(
      Effect.map((answered) => {
        answeredLeg = answered
        return answered
      }),
      Effect.timeoutFail({
        duration: ms,
        onTimeout: () => new DialFailed({ outcome: "no-answer", reason: "nobody answers" })
      }),
      Effect.onInterrupt(() => Effect.sync(() => answeredLeg?.hangup("the transfer was given up")))
    )
    return Effect.uninterruptibleMask((restore) =>
      Effect.matchEffect(restore(dialled), {
        onFailure: ({ advice, outcome, reason }) =>
          Effect.suspend(() => {
            waiting.stop()
            // The model gets the reason, and may say it to the caller.
            feedProgress(outcome, reason)
            if (advice === undefined) return Effect.void
            return Effect.logWarning(`A transfer to ${destination} failed: ${reason}; ${advice}`)
          }),
        onSuccess: (answered) =>
          Effect.suspend(() => {
            if (isOver) return Effect.sync(() => answered.hangup("given up"))
            second = answered
            answered.listen((event) => onSecond(answered, event))
            const said = text === undefined ? Effect.void : sayTo(answered, text)
            const ready = Effect.zipRight(
              said,
              Effect.sync(() => waiting.stop())
            )
            return restore(Effect.zipRight(ready, join(answered, bridge)))
          })
      })
    ).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          waiting.stop()
          isDialling = false
        })
      )
    )
  }

  return {
    start: (destination, text) => {
      if (text !== undefined && network !== undefined) run(dial(destination, network, transferOutcomeMs, text))
      else if (leg.transferBlind !== undefined) {
        blind = { destination, at: ticker.now() }
        leg.transferBlind(destination)
      } else if (network !== undefined) run(dial(destination, network, transferOutcomeMs))
      else feedProgress("failed", "this telephone network cannot transfer calls")
    },
    takes: (event) => {
      if (isJoined && event._tag !== "Ended") {
        bridge?.fromOne(event)
        return true
      }
      if (event._tag !== "TransferProgress" || event.state === "ringing") return false
      const asked = blind
      blind = undefined
      if (event.refused !== true || asked === undefined || network === undefined) return false
      run(dial(asked.destination, network, Math.max(0, transferOutcomeMs - (ticker.now() - asked.at))))
      return true
    },
    cancel: () => {
      blind = undefined
      hangUpSecond("the transfer was given up")
      if (isDialling) run(Effect.void)
    },
    end: (reason) => {
      isOver = true
      blind = undefined
      hangUpSecond(reason)
      if (isDialling) run(Effect.void)
    },
    used: () => ({ ...used })
  }
}
