import type { SpeechVeto } from "./SpeechDetector.ts"

/** The functions of `@echogarden/fvad-wasm` that are used: WebRTC's voice activity detector, in WebAssembly. */
export interface FvadModule {
  /** The memory as 16 bit integers; another array after the memory has grown. */
  readonly HEAP16: Int16Array
  readonly _malloc: (bytes: number) => number
  readonly _fvad_new: () => number
  readonly _fvad_reset: (instance: number) => void
  readonly _fvad_set_mode: (instance: number, mode: number) => number
  readonly _fvad_set_sample_rate: (instance: number, sampleRate: number) => number
  readonly _fvad_process: (instance: number, samples: number, count: number) => number
}

/** The strictest mode. */
const mode = 3
const sampleRate = 8000
const frameLength = 160

/**
 * Instances of fvad that agree or object to frames. An instance that was closed is reset and used again, because memory
 * of WebAssembly is never given back.
 */
export class FvadPool {
  readonly #module: FvadModule
  readonly #free: Array<number> = []
  /** The address of the frame, shared by all instances. */
  readonly #samples: number
  /** Instances that exist. */
  size = 0

  constructor(module: FvadModule) {
    this.#module = module
    this.#samples = module._malloc(frameLength * 2)
  }

  /** An instance in its first state. */
  open(): SpeechVeto {
    const module = this.#module
    const instance = this.#free.pop() ?? this.#make()
    module._fvad_reset(instance)
    module._fvad_set_mode(instance, mode)
    module._fvad_set_sample_rate(instance, sampleRate)
    let open = true
    return {
      isSpeech: (frame) => {
        module.HEAP16.set(frame, this.#samples >> 1)
        return module._fvad_process(instance, this.#samples, frameLength) === 1
      },
      close: () => {
        if (!open) return
        open = false
        this.#free.push(instance)
      }
    }
  }

  #make(): number {
    const instance = this.#module._fvad_new()
    if (instance === 0) throw new Error("fvad has no memory for another call")
    this.size++
    return instance
  }
}
