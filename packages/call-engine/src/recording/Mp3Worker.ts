import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { constants, platform, setPriority } from "node:os"
import { type MessagePort, parentPort } from "node:worker_threads"
import { codecOf } from "@svc/audio/Codec"
import { createEncoder, type WasmMediaEncoder } from "wasm-media-encoders"
import type { Block, FromEncoder, ToEncoder } from "./Mp3Messages.ts"

/**
 * The encoder thread: one LAME for all recordings of the process. Blocks of a recording are encoded in order, caller
 * left and agent right, at a constant bitrate, so that a player can seek in a file that was never completed.
 */

type Encoder = WasmMediaEncoder<"audio/mpeg">
type Program = Parameters<typeof createEncoder>[1]

/** Idle encoders that are kept; each takes about 200 KB. */
const maxIdle = 16

let program: Program = readFileSync(createRequire(import.meta.url).resolve("wasm-media-encoders/wasm/mp3"))
const idle: Array<Encoder> = []
/** For each recording its encoder, once it has encoded all blocks so far. */
const open = new Map<number, Promise<Encoder | undefined>>()

const begin = ({ format: { sampleRate } }: Block): Promise<Encoder> => {
  const made = idle.pop()
  const encoder =
    made === undefined
      ? createEncoder("audio/mpeg", program, (compiled) => {
          program = compiled
        })
      : Promise.resolve(made)
  return encoder.then((ready) => {
    // 32 kbit/s suffice for two channels of telephone audio; wide-band gets more.
    ready.configure({ sampleRate, outputSampleRate: sampleRate, channels: 2, bitrate: sampleRate === 8000 ? 32 : 48 })
    return ready
  })
}

const samplesOf = (bytes: Uint8Array, { format }: Block): Float32Array => {
  const codec = codecOf(format)
  const count = bytes.length / codec.bytesPerSample
  const pcm = new Int16Array(count)
  codec.decode(bytes, 0, count, pcm, 0)
  return Float32Array.from(pcm, (sample) => sample / 32_768)
}

const encode = (encoder: Encoder, block: Block): Uint8Array<ArrayBuffer> => {
  const first =
    block.left.length === 0
      ? new Uint8Array(0)
      : encoder.encode([samplesOf(block.left, block), samplesOf(block.right, block)]).slice()
  if (!block.last) return first
  const rest = encoder.finalize()
  const bytes = new Uint8Array(first.length + rest.length)
  bytes.set(first)
  bytes.set(rest, first.length)
  return bytes
}

const listen = (port: MessagePort): void => {
  const answer = (message: FromEncoder): void =>
    port.postMessage(message, message._tag === "Encoded" ? [message.bytes.buffer] : [])

  const onBlock = (block: Block): void => {
    const { id, last } = block
    const before = open.get(id) ?? begin(block)
    const after = before
      .then((encoder) => {
        // The recording was abandoned or has failed.
        if (encoder === undefined) return undefined
        answer({ _tag: "Encoded", id, bytes: encode(encoder, block), last })
        return encoder
      })
      .catch((error: unknown) => {
        answer({ _tag: "Failed", id, reason: String(error) })
        return undefined
      })
    open.set(id, after)
    if (last) after.then((encoder) => forget(id, encoder))
  }

  const forget = (id: number, encoder: Encoder | undefined): void => {
    open.delete(id)
    if (encoder !== undefined && idle.length < maxIdle) idle.push(encoder)
  }

  port.on("message", (message: ToEncoder) => {
    if (message._tag === "Encode") message.blocks.forEach(onBlock)
    else open.get(message.id)?.then((encoder) => forget(message.id, encoder))
  })
}

// Calls have priority. On Linux this sets the priority of this thread alone; on other systems it would change the whole
// process.
if (platform() === "linux") setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)
if (parentPort !== null) listen(parentPort)
