import { legFormats } from "@svc/providers/Audio"
import { alawToPcm, mulawToPcm, pcmToAlaw, pcmToMulaw } from "@svc/providers/G711"
import type { CallEvent, CallLeg } from "@svc/providers/Telephony"
import { Telephony } from "@svc/providers/Telephony"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import { Context, Effect, Layer, Option, Schedule, type Scope, Stream } from "effect"
import type { Settings } from "../src/Settings.ts"
import * as SipTelephony from "../src/SipTelephony.ts"

/** 1 kHz in both laws; the other law hears it with overtones. */
const tone = Uint8Array.of(0x1e, 0x0b, 0x1e, 0x9e, 0x8b, 0x9e, 0x9e, 0x1e)
export const toneFrame = Uint8Array.from({ length: 160 }, (_, index) => tone[index % tone.length] ?? 0)

/** Whether audio has sound: the bytes of silence are near 0xff and 0x7f in mu-law, and 0xd5 and 0x55 in A-law. */
const hasSound = (payload: Uint8Array, law: string) =>
  law === "mulaw" ? payload.some((byte) => (byte & 0x7f) < 0x40) : payload.some((byte) => ((byte ^ 0x55) & 0x7f) > 0x30)

/** The plugin on ports of this machine, which nothing else uses. */
export const telephonyOf = (
  settings: Settings,
  replacements: SipTelephony.Replacements = {}
): Effect.Effect<
  {
    readonly telephony: typeof Telephony.Service
    readonly port: number
    /** NaN: nothing accepts TLS. */
    readonly tlsPort: number
    readonly logged: ReadonlyArray<{ readonly message: string }>
  },
  never,
  Scope.Scope
> =>
  Effect.gen(function* () {
    const { host, logged } = yield* makeHostDouble()
    const layer = SipTelephony.layer({ bind: "127.0.0.1:0", ...settings }, host, replacements)
    const telephony = Context.get(yield* Effect.orDie(Layer.build(layer)), Telephony)
    const portIn = (line: RegExp) => Number(logged.map(({ message }) => line.exec(message)?.[1]).find((found) => found))
    const port = portIn(/^SIP on \S+:(\d+)$/)
    return { telephony, port, tlsPort: portIn(/^SIP over TLS on \S+:(\d+)$/), logged }
  })

/** What an answered leg has emitted. */
export class PeerCall {
  readonly leg: CallLeg
  readonly events: Array<CallEvent["_tag"]> = []
  digits = ""
  /** Packets of audio, and those with sound. */
  packets = 0
  sounding = 0
  /** What was heard. */
  readonly heard: Array<Uint8Array> = []
  /** Packets that followed the one before them in sequence. */
  inOrder = 0
  /** Packets with sound until each change of the hold. */
  readonly soundingAtHold: Array<number> = []
  ending: Extract<CallEvent, { readonly _tag: "Ended" }> | undefined
  onTransfer: (progress: Extract<CallEvent, { readonly _tag: "TransferProgress" }>) => void = () => {}
  #sequence: number | undefined

  constructor(leg: CallLeg) {
    this.leg = leg
    leg.listen((event) => this.#on(event))
  }

  #on(event: CallEvent): void {
    if (event._tag === "Audio") {
      if (this.#sequence !== undefined && event.sequence === ((this.#sequence + 1) & 0xffff)) this.inOrder++
      this.#sequence = event.sequence
      if (event.payload.length === 0) return
      this.packets++
      this.heard.push(new Uint8Array(event.payload))
      if (hasSound(event.payload, this.leg.format.encoding)) this.sounding++
      return
    }
    this.events.push(event._tag)
    if (event._tag === "Hold") this.soundingAtHold.push(this.sounding)
    if (event._tag === "Dtmf") this.digits += event.digit
    if (event._tag === "TransferProgress") this.onTransfer(event)
    if (event._tag === "Ended") this.ending = event
  }

  /** Sends a tone of 1 kHz until the end of the scope. */
  get playTone(): Effect.Effect<void, never, Scope.Scope> {
    return this.play(toneFrame)
  }

  /** Sends a frame again and again until the end of the scope. */
  play(frame: Uint8Array): Effect.Effect<void, never, Scope.Scope> {
    return Effect.sync(() => this.leg.send(frame)).pipe(
      Effect.repeat(Schedule.fixed("20 millis")),
      Effect.forkScoped,
      Effect.asVoid
    )
  }
}

/** 20 ms of a tone of so many Hz, a multiple of 50, in a law. */
export const frameOf = (hz: number, law: string): Uint8Array => {
  const pcm = Int16Array.from({ length: 160 }, (_, n) => Math.round(8000 * Math.sin((2 * Math.PI * hz * n) / 8000)))
  const frame = new Uint8Array(160)
  const encode = law === "mulaw" ? pcmToMulaw : pcmToAlaw
  encode(pcm, 0, 160, frame, 0)
  return frame
}

/** The share of the power of audio in a law that is at so many Hz, 0 to 1. */
export const shareAt = (hz: number, audio: ReadonlyArray<Uint8Array>, law: string): number => {
  const bytes = Buffer.concat(audio)
  const pcm = new Int16Array(bytes.length)
  const decode = law === "mulaw" ? mulawToPcm : alawToPcm
  decode(bytes, 0, bytes.length, pcm, 0)
  const [sine, cosine, power] = pcm.reduce(
    ([s, c, all], sample, n) => {
      const angle = (2 * Math.PI * hz * n) / 8000
      return [s + sample * Math.sin(angle), c + sample * Math.cos(angle), all + sample * sample]
    },
    [0, 0, 0]
  )
  return (2 * (sine * sine + cosine * cosine)) / (pcm.length * power)
}

/** Answers the next incoming call. */
export const answerNext = (telephony: typeof Telephony.Service): Effect.Effect<PeerCall> =>
  telephony.incoming.pipe(
    Stream.runHead,
    Effect.map(Option.getOrThrow),
    Effect.flatMap((incoming) => incoming.answer({ callId: incoming.id, formats: legFormats })),
    Effect.map((leg) => new PeerCall(leg)),
    Effect.timeout("15 seconds"),
    Effect.orDie
  )
