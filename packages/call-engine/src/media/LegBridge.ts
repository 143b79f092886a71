import { codecOf } from "@svc/audio/Codec"
import type { CallEvent, CallLeg } from "@svc/providers/Telephony"
import { DtmfDeduplicator } from "./DtmfDeduplicator.ts"
import type { FrameWheel } from "./FrameWheel.ts"
import { PacedSender } from "./PacedSender.ts"
import { ReceivePath } from "./ReceivePath.ts"

interface BridgeOptions {
  readonly wheel: FrameWheel
  /** Milliseconds of the ticker. */
  readonly now: () => number
}

/** One direction: what comes from a leg goes to the other one. */
class OneWay {
  private readonly received: ReceivePath
  private readonly sender: PacedSender
  private readonly digits = new DtmfDeduplicator()
  private readonly to: CallLeg
  private readonly now: () => number

  constructor(from: CallLeg, to: CallLeg, { now, wheel }: BridgeOptions) {
    this.to = to
    this.now = now
    const sender = new PacedSender({ format: to.format, wheel, now, send: to.send })
    const { sampleRate } = from.format
    this.sender = sender
    this.received = new ReceivePath({
      format: from.format,
      codec: codecOf(from.format),
      wheel,
      now,
      onFrame: (frame) => sender.push(frame, sampleRate),
      // Half of what the sender keeps against jitter would wait here.
      inPairs: false
    })
  }

  audio({ payload, sequence, timestamp }: Extract<CallEvent, { readonly _tag: "Audio" }>): void {
    this.received.receive(payload, sequence, timestamp)
  }

  /** A digit that is not in the audio. */
  digit({ digit, source }: Extract<CallEvent, { readonly _tag: "Dtmf" }>): void {
    if (this.digits.isNew(digit, source, this.now()) && source !== "in-band") this.to.sendDtmf?.(digit)
  }

  hold(on: boolean): void {
    this.to.hold?.(on)
  }

  suspend(on: boolean): void {
    this.sender.suspend(on)
  }

  stop(): void {
    this.received.stop()
    this.sender.stop()
  }
}

/**
 * Passes the audio between two legs whose network cannot join them. Each direction has a jitter buffer, converts between
 * the formats of the legs, and sends at the pace of our clock; of audio that comes faster, the oldest is dropped. Digits
 * that are not in the audio are sent on where the other leg can send them. When a line stops, the other
 * leg hears comfort noise for a few seconds, then nothing. While one leg is held, the other is put on
 * hold where its network can, and hears nothing.
 */
export class LegBridge {
  private readonly onward: OneWay
  private readonly back: OneWay

  constructor(one: CallLeg, other: CallLeg, options: BridgeOptions) {
    this.onward = new OneWay(one, other, options)
    this.back = new OneWay(other, one, options)
  }

  /** An event of the first leg. */
  fromOne(event: CallEvent): void {
    this.pass(event, this.onward, this.back)
  }

  /** An event of the second leg. */
  fromOther(event: CallEvent): void {
    this.pass(event, this.back, this.onward)
  }

  private pass(event: CallEvent, to: OneWay, from: OneWay): void {
    switch (event._tag) {
      case "Audio":
        to.audio(event)
        return
      case "Dtmf":
        to.digit(event)
        return
      case "Media":
        from.suspend(!event.on)
        return
      case "Hold":
        to.hold(event.on)
        return
    }
  }

  stop(): void {
    this.onward.stop()
    this.back.stop()
  }
}
