import type { AudioFormat } from "@svc/providers/Audio"

/** The messages between the process and its encoder thread. Buffers are transferred, not copied. */

/** Audio of one recording: both sides in the leg's format, equally long. */
export interface Block {
  readonly id: number
  readonly format: AudioFormat
  readonly left: Uint8Array<ArrayBuffer>
  readonly right: Uint8Array<ArrayBuffer>
  /** The last block of the recording. */
  readonly last: boolean
}

export type ToEncoder =
  | { readonly _tag: "Encode"; readonly blocks: ReadonlyArray<Block> }
  /** The recording was abandoned. */
  | { readonly _tag: "Forget"; readonly id: number }

/** The answer to a block. */
export type FromEncoder =
  | {
      readonly _tag: "Encoded"
      readonly id: number
      readonly bytes: Uint8Array<ArrayBuffer>
      readonly last: boolean
    }
  | { readonly _tag: "Failed"; readonly id: number; readonly reason: string }
