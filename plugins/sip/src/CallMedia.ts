import type { AudioFormat } from "@svc/providers/Audio"
import type { CallEvent, LineQuality } from "@svc/providers/Telephony"
import { Effect, Exit, Scope } from "effect"
import type { Codec } from "./Codec.ts"
import type { MediaParameters, PacketTime } from "./rtp/MediaParameters.ts"
import type { RtpCall, RtpMedia } from "./rtp/RtpMedia.ts"
import * as Description from "./sdp/Description.ts"
import * as Negotiation from "./sdp/Negotiation.ts"

const packetTime = (ms: number): PacketTime => (ms === 10 || ms === 30 || ms === 40 || ms === 60 ? ms : 20)

const lawOf = ({ format }: Codec): "alaw" | "mulaw" => (format.encoding === "alaw" ? "alaw" : "mulaw")

const parametersOf = (agreed: Negotiation.Agreed, source: string | undefined): MediaParameters => ({
  remote: agreed.remote ?? { address: "0.0.0.0", port: 0 },
  ...(agreed.remote === null || agreed.rtcpMux
    ? {}
    : { remoteRtcp: { address: agreed.remote.address, port: agreed.rtcpPort } }),
  ...(source === undefined ? {} : { hosts: [source] }),
  isRtcpMuxed: agreed.rtcpMux,
  audio: [{ payloadType: agreed.payloadType, law: lawOf(agreed.codec) }],
  ...(agreed.events === undefined ? {} : { telephoneEvent: agreed.events }),
  ...(agreed.comfortNoise ? { comfortNoise: 13 } : {}),
  packetTimeMs: packetTime(agreed.ptime),
  direction: agreed.direction
})

const unheard: LineQuality = { packetsLost: 0, packetsLate: 0, jitterMs: null }

/** The audio of one call: its RTP ports, what was negotiated, and our descriptions. */
export class CallMedia {
  readonly #rtp: RtpCall
  readonly #scope: Scope.CloseableScope
  readonly #codecs: ReadonlyArray<Codec>
  readonly #address: string
  readonly #sessionId: string
  readonly #source: string | undefined
  readonly format: AudioFormat
  #version = 0
  #agreed: Negotiation.Agreed | undefined
  #lastQuality: LineQuality = unheard

  constructor(given: {
    readonly rtp: RtpCall
    readonly scope: Scope.CloseableScope
    readonly codecs: ReadonlyArray<Codec>
    readonly format: AudioFormat
    readonly address: string
    readonly sessionId: string
    readonly source: string | undefined
  }) {
    this.#rtp = given.rtp
    this.#scope = given.scope
    this.#codecs = given.codecs
    this.format = given.format
    this.#address = given.address
    this.#sessionId = given.sessionId
    this.#source = given.source
  }

  get agreed(): Negotiation.Agreed | undefined {
    return this.#agreed
  }

  /** Whether digits go as telephone events; else by INFO. */
  get hasEvents(): boolean {
    return this.#agreed?.events !== undefined
  }

  /** When RTP or RTCP of the peer came last, in monotonic ms. */
  get heardAt(): number | undefined {
    return this.#rtp.session.heardAt
  }

  /** Whether the peer's last packet was comfort noise. */
  get isInNoise(): boolean {
    return this.#rtp.session.isInNoise
  }

  get quality(): LineQuality {
    return this.#lastQuality
  }

  /** A description that offers our codecs. */
  offer(): Uint8Array {
    return Negotiation.offer(this.#local())
  }

  /** Takes an offer, and gives the answer; undefined: nothing in common. */
  answer(sdp: Uint8Array): Uint8Array | undefined {
    const peer = Description.parse(sdp)
    const agreed = peer === undefined ? undefined : this.#agree(peer)
    return peer === undefined || agreed === undefined ? undefined : Negotiation.answer(peer, agreed, this.#local())
  }

  /** Takes the answer to our offer. False: nothing in common. */
  accept(sdp: Uint8Array): boolean {
    const peer = Description.parse(sdp)
    return peer !== undefined && this.#agree(peer) !== undefined
  }

  send(frame: Uint8Array): void {
    this.#rtp.session.send(frame)
  }

  clear(): void {
    this.#rtp.session.clear()
  }

  /** Sends digits as telephone events. False: the peer has none. */
  sendDigits(digits: string): boolean {
    return this.#rtp.session.sendDigits(digits)
  }

  /** Reads the quality for later, when the ports are closed. */
  measure(): LineQuality {
    this.#lastQuality = this.#rtp.session.quality
    return this.#lastQuality
  }

  /** Closes the ports. */
  get close(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.measure()
      return Scope.close(this.#scope, Exit.void)
    })
  }

  #local(): Negotiation.Local {
    this.#version++
    return {
      address: this.#address,
      port: this.#rtp.port,
      sessionId: this.#sessionId,
      version: this.#version,
      codecs: this.#codecs,
      direction: "sendrecv"
    }
  }

  #agree(peer: Description.Description): Negotiation.Agreed | undefined {
    const agreed = Negotiation.agree(peer, { codecs: this.#codecs, direction: "sendrecv" })
    if (agreed === undefined) return undefined
    this.#agreed = agreed
    this.#rtp.session.negotiate(parametersOf(agreed, this.#source))
    return agreed
  }
}

/** Opens the ports of a call, whose audio has this format. */
export const open = (
  media: RtpMedia,
  emit: (event: CallEvent) => void,
  given: {
    readonly codecs: ReadonlyArray<Codec>
    readonly codec: Codec
    readonly address: string
    readonly sessionId: string
    readonly source: string | undefined
  }
): Effect.Effect<CallMedia, { readonly message: string }> =>
  Effect.uninterruptible(
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const listener = {
        onAudio: (payload: Uint8Array, sequence: number, timestamp: number) =>
          emit({ _tag: "Audio", payload, sequence, timestamp }),
        onDigit: (digit: string) => emit({ _tag: "Dtmf", digit, source: "rfc4733" })
      }
      const rtp = yield* media.open(lawOf(given.codec), listener).pipe(
        Scope.extend(scope),
        Effect.onError(() => Scope.close(scope, Exit.void))
      )
      return new CallMedia({ ...given, rtp, scope, format: given.codec.format })
    })
  )
