import type { AudioFormat } from "@svc/providers/Audio"
import type { CallEvent, LineQuality } from "@svc/providers/Telephony"
import { Effect, Exit, Scope } from "effect"
import { obstacleText } from "./AudioAdvice.ts"
import type { Codec } from "./Codec.ts"
import type { Family } from "./rtp/MediaAddress.ts"
import type { MediaParameters, PacketTime } from "./rtp/MediaParameters.ts"
import type { RtpCall, RtpMedia } from "./rtp/RtpMedia.ts"
import * as Description from "./sdp/Description.ts"
import { type KeyPair, MediaKeys } from "./sdp/MediaKeys.ts"
import * as Negotiation from "./sdp/Negotiation.ts"
import { type Obstacle, obstacleIn } from "./sdp/Obstacle.ts"
import { warningOf } from "./sdp/Warning.ts"

const packetTime = (ms: number): PacketTime => (ms === 10 || ms === 30 || ms === 40 || ms === 60 ? ms : 20)

const lawOf = ({ format }: Codec): "alaw" | "mulaw" => (format.encoding === "alaw" ? "alaw" : "mulaw")

const parametersOf = (
  agreed: Negotiation.Agreed,
  source: string | undefined,
  keys: KeyPair | undefined
): MediaParameters => ({
  remote: agreed.remote ?? { address: "0.0.0.0", port: 0 },
  ...(agreed.remote === null || agreed.rtcpMux
    ? {}
    : { remoteRtcp: { address: agreed.remote.address, port: agreed.rtcpPort } }),
  ...(source === undefined ? {} : { hosts: [source] }),
  isRtcpMuxed: agreed.rtcpMux,
  audio: [
    { payloadType: agreed.payloadType, law: lawOf(agreed.codec) },
    ...(agreed.others ?? []).map(({ codec, payloadType }) => ({ payloadType, law: lawOf(codec) }))
  ],
  ...(agreed.events === undefined ? {} : { telephoneEvent: agreed.events }),
  ...(agreed.offeredEvents === undefined ? {} : { offeredTelephoneEvent: agreed.offeredEvents }),
  ...(agreed.comfortNoise ? { comfortNoise: 13 } : {}),
  packetTimeMs: packetTime(agreed.ptime),
  direction: agreed.direction,
  ...(keys === undefined ? {} : { keys })
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
  readonly #keys: MediaKeys
  readonly format: AudioFormat
  #version = 0
  #direction: "sendrecv" | "sendonly" = "sendrecv"
  #agreed: Negotiation.Agreed | undefined
  #lastQuality: LineQuality = unheard
  readonly #families: ReadonlyArray<Family>
  /** What was in the way of the last description that could not be used. */
  #obstacle: Obstacle = { _tag: "Malformed" }

  constructor(given: {
    readonly rtp: RtpCall
    readonly scope: Scope.CloseableScope
    readonly codecs: ReadonlyArray<Codec>
    readonly format: AudioFormat
    readonly address: string
    readonly sessionId: string
    readonly source: string | undefined
    readonly encryption: Negotiation.Encryption
    readonly families: ReadonlyArray<Family>
    readonly awaitsAck?: boolean
  }) {
    this.#rtp = given.rtp
    if (given.awaitsAck === true) this.#rtp.session.awaitProof()
    this.#scope = given.scope
    this.#codecs = given.codecs
    this.format = given.format
    this.#address = given.address
    this.#sessionId = given.sessionId
    this.#source = given.source
    this.#keys = new MediaKeys(given.encryption)
    this.#families = given.families
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

  /** Whether our descriptions put the peer on hold. */
  get holdsPeer(): boolean {
    return this.#direction === "sendonly"
  }

  set holdsPeer(on: boolean) {
    this.#direction = on ? "sendonly" : "sendrecv"
  }

  /** A description that offers our codecs. */
  offer(): Uint8Array {
    return Negotiation.offer({ ...this.#local(), ...this.#keys.offer(this.#agreed !== undefined) })
  }

  /** Takes an offer, and gives the answer; undefined: nothing in common, see `warning`. */
  answer(sdp: Uint8Array): Uint8Array | undefined {
    const peer = Description.parse(sdp)
    const agreed = this.#agree(peer, this.#wanted)
    if (peer === undefined || agreed === undefined) return undefined
    this.#negotiate(agreed, this.#keys.answered(agreed))
    const { line } = this.#keys
    return Negotiation.answer(peer, agreed, { ...this.#local(), ...(line === undefined ? {} : { crypto: [line] }) })
  }

  /** Takes the answer to our offer. False: nothing in common, see `obstacleText`. */
  accept(sdp: Uint8Array): boolean {
    const agreed = this.#agree(Description.parse(sdp), { ...this.#wanted, offered: this.#keys.answerable })
    if (agreed === undefined) return false
    this.#negotiate(agreed, this.#keys.accepted(agreed))
    return true
  }

  /** What was in the way of the last description that could not be used, for the operator. */
  get obstacleText(): string {
    return obstacleText(this.#obstacle, { codecs: this.#codecs, encryption: this.#keys.encryption })
  }

  /** The same for the peer, as the value of Warning in a 488. */
  get warning(): string {
    return warningOf(this.#obstacle)
  }

  /** The ACK of our answer came. */
  acknowledged(): void {
    this.#rtp.session.prove()
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
      direction: this.#direction
    }
  }

  get #wanted(): Negotiation.Wanted {
    return {
      codecs: this.#codecs,
      direction: this.#direction,
      encryption: this.#keys.encryption,
      families: this.#families
    }
  }

  #agree(peer: Description.Description | undefined, wanted: Negotiation.Wanted): Negotiation.Agreed | undefined {
    const agreed = peer === undefined ? undefined : Negotiation.agree(peer, wanted)
    if (agreed === undefined) this.#obstacle = obstacleIn(peer, wanted)
    return agreed
  }

  #negotiate(agreed: Negotiation.Agreed, keys: KeyPair | undefined): void {
    this.#agreed = agreed
    this.#rtp.session.negotiate(parametersOf(agreed, this.#source, keys))
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
    readonly encryption: Negotiation.Encryption
    /** An incoming call: its peer has proven with its ACK only that it is where it says. */
    readonly awaitsAck?: boolean
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
      return new CallMedia({ ...given, rtp, scope, format: given.codec.format, families: media.families })
    })
  )
