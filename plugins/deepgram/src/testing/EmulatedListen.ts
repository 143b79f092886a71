import { mulawToPcm } from "@svc/providers/G711"
import type { EmulatedPeer } from "@svc/providers/testing/EmulatedServer"
import { Effect } from "effect"
import type { Ear } from "./Ear.ts"

/** A word as the server sends it: times in seconds of the audio that it got. */
interface HeardWord {
  readonly word: string
  readonly start: number
  readonly end: number
}

/** What the server has heard. */
export interface Hearing {
  /** Frames of 20 ms until now, and those of silence at the end. */
  readonly frames: number
  readonly silence: number
  /** Words that are complete, and with `isCut` the one that is being said, from the n-th on. */
  readonly words: (from: number, isCut: boolean) => ReadonlyArray<HeardWord>
}

/** Calls `onFrame` for each 20 ms of the audio of a client. */
export const listener = (peer: EmulatedPeer, ear: Ear, onFrame: (hearing: Hearing) => void) => {
  const rate = Number(peer.request.query.get("sample_rate"))
  const isMulaw = peer.request.query.get("encoding") === "mulaw"
  const frame = new Int16Array(rate / 50)
  const words: Array<HeardWord> = []
  let [length, frames, silence, taken, began, ended] = [0, 0, 0, 0, 0, 0]
  let current = ""
  const endWord = (): void => {
    if (current !== "") words.push({ word: current, start: began / 50, end: ended / 50 })
    current = ""
  }
  const hearing = (): Hearing => ({
    frames,
    silence,
    words: (from, isCut) => [
      ...words.slice(from),
      ...(isCut && current !== "" ? [{ word: current, start: began / 50, end: ended / 50 }] : [])
    ]
  })
  const hear = (): void => {
    const isSpeech = ear.push(frame)
    frames++
    silence = isSpeech ? 0 : silence + 1
    for (const character of ear.text().slice(taken)) {
      if (character === " ") endWord()
      else {
        if (current === "") began = frames - 1
        current += character
        ended = frames
      }
    }
    taken = ear.text().length
    if (silence === 10) endWord()
    onFrame(hearing())
  }
  return {
    /** What was heard, and the word that is being said is over. */
    cut: (): Hearing => {
      endWord()
      return hearing()
    },
    push: (bytes: Buffer): void => {
      const samples = new Int16Array(isMulaw ? bytes.length : bytes.length >> 1)
      if (isMulaw) mulawToPcm(bytes, 0, bytes.length, samples, 0)
      else for (let i = 0; i < samples.length; i++) samples[i] = bytes.readInt16LE(2 * i)
      for (const sample of samples) {
        frame[length++] = sample
        if (length < frame.length) continue
        length = 0
        hear()
      }
    }
  }
}

const requestId = "00000000-0000-0000-0000-000000000000"
const transcriptOf = (words: ReadonlyArray<HeardWord>) => words.map(({ word }) => word).join(" ")

/** Reads the client's messages until it closes: audio, and messages by their type. */
const conversation = (
  peer: EmulatedPeer,
  onAudio: (bytes: Buffer) => void,
  on: (type: string, message: Readonly<Record<string, unknown>>) => void
): Effect.Effect<void> =>
  Effect.gen(function* () {
    while (true) {
      // Neither audio nor a message for 10 s (docs/audio-keep-alive).
      const next = yield* Effect.timeoutTo(peer.next, {
        duration: "10 seconds",
        onSuccess: (message) => message,
        onTimeout: () => undefined
      })
      if (next === null) return
      if (next === undefined) return peer.close(1011, "NET-0001")
      if (typeof next !== "string") {
        // An empty message ends the stream.
        if (next.length === 0) return peer.close(1000)
        onAudio(next)
      } else {
        const message: Readonly<Record<string, unknown>> = JSON.parse(next)
        on(String(message["type"]), message)
      }
    }
  })

/** `/v1/listen`: interim results, a final one at a pause, at 3 s of speech, and when it is asked for. */
export const listenV1 = (peer: EmulatedPeer, ear: Ear): Effect.Effect<void> => {
  const { query } = peer.request
  const endpointing = Number(query.get("endpointing")) / 20
  const isMulti = query.get("language") === "multi"
  let emitted = 0
  let interim = ""
  let finalAt = 0
  const results = (words: ReadonlyArray<HeardWord>, more: object) =>
    peer.send({
      type: "Results",
      channel_index: [0, 1],
      duration: 1,
      start: 0,
      is_final: false,
      speech_final: false,
      channel: {
        alternatives: [
          {
            transcript: transcriptOf(words),
            confidence: 0.98,
            ...(isMulti ? { languages: ["es"] } : {}),
            words: words.map((word) => ({ ...word, confidence: 0.97, punctuated_word: word.word }))
          }
        ]
      },
      metadata: { request_id: requestId, model_info: { name: "general-nova-3" } },
      ...more
    })
  const final = (hearing: Hearing, isCut: boolean, more: object): void => {
    const words = hearing.words(emitted, isCut)
    emitted += hearing.words(emitted, false).length
    interim = ""
    finalAt = hearing.frames
    results(words, { is_final: true, ...more })
  }
  const heard = listener(peer, ear, (hearing) => {
    const words = hearing.words(emitted, true)
    if (hearing.silence === 0 && transcriptOf(hearing.words(0, true)) === (words[0]?.word ?? "") && interim === "") {
      peer.send({ type: "SpeechStarted", channel: [0, 1], timestamp: hearing.frames / 50 })
    }
    if (hearing.silence === endpointing) final(hearing, true, { speech_final: true })
    else if (hearing.words(emitted, false).length > 0 && hearing.frames - finalAt > 150) final(hearing, false, {})
    else if (hearing.frames % 10 === 0 && transcriptOf(words) !== interim) {
      interim = transcriptOf(words)
      results(words, {})
    }
  })
  return conversation(peer, heard.push, (type, message) => {
    if (type === "Finalize") final(heard.cut(), true, { from_finalize: true })
    if (type === "Configure") {
      peer.send({ type: "ConfigureSuccess", request_id: requestId, keyterms: message["keyterms"] ?? [] })
    }
    if (type === "CloseStream") {
      const rest = heard.cut()
      if (rest.words(emitted, true).length > 0) final(rest, true, {})
      peer.send({ type: "Metadata", transaction_key: "deprecated", request_id: requestId, duration: 1, channels: 1 })
      peer.close(1000)
    }
    if (!["Finalize", "Configure", "CloseStream", "KeepAlive"].includes(type)) peer.close(1008, "DATA-0000")
  })
}

/** Pauses after which Flux probably, and surely, ends a turn: 200 and 500 ms. */
const eagerPause = 10
const endPause = 25

/** `/v2/listen`: turns, with an eager end where a threshold for it is set. */
export const listenV2 = (peer: EmulatedPeer, ear: Ear): Effect.Effect<void> => {
  const { query } = peer.request
  const isEager = query.get("eager_eot_threshold") !== null
  let [turn, sequence, emitted] = [0, 0, 0]
  let state: "idle" | "speaking" | "eager" = "idle"
  const send = (message: object) => peer.send({ request_id: requestId, sequence_id: sequence++, ...message })
  const info = (event: string, hearing: Hearing, isCut = true): void => {
    const words = hearing.words(emitted, isCut)
    send({
      type: "TurnInfo",
      event,
      turn_index: turn,
      audio_window_start: 0,
      audio_window_end: hearing.frames / 50,
      transcript: transcriptOf(words),
      words: words.map((word) => ({ ...word, confidence: 0.9 })),
      end_of_turn_confidence: 0.5,
      ...(query.get("model") === "flux-general-multi" ? { languages: ["nl"] } : {})
    })
  }
  const endTurn = (hearing: Hearing): void => {
    if (state === "idle") return
    info("EndOfTurn", hearing)
    state = "idle"
    turn++
    emitted += hearing.words(emitted, false).length
  }
  const heard = listener(peer, ear, (hearing) => {
    const hasWords = hearing.words(emitted, true).length > 0
    if (state === "idle") {
      if (!hasWords) return
      state = "speaking"
      info("StartOfTurn", hearing)
    } else if (hearing.silence === endPause) endTurn(hearing)
    else if (hearing.silence === eagerPause && isEager) {
      state = "eager"
      info("EagerEndOfTurn", hearing)
    } else if (state === "eager" && hearing.silence === 0) {
      state = "speaking"
      info("TurnResumed", hearing)
    } else if (hearing.frames % 12 === 0) info("Update", hearing)
  })
  send({ type: "Connected" })
  return conversation(peer, heard.push, (type, message) => {
    if (type === "ForceEndTurn") endTurn(heard.cut())
    if (type === "Configure") send({ ...message, type: "ConfigureSuccess" })
    if (type === "CloseStream") {
      if (state !== "idle") info("Update", heard.cut())
      peer.close(1000)
    }
    if (!["ForceEndTurn", "Configure", "CloseStream"].includes(type)) {
      send({ type: "Error", code: "UNPARSABLE_CLIENT_MESSAGE", description: `no message ${type}` })
      peer.close(1008, "UNPARSABLE_CLIENT_MESSAGE")
    }
  })
}
