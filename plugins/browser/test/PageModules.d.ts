/** Modules of the page, which are JavaScript with types in comments, as tests use them. */
declare module "*/page/JitterBuffer.js" {
  export class JitterBuffer {
    readonly delay: number
    push(frame: Int16Array): void
    mark(name: string): void
    clear(): void
    next(): number
    reached(): ReadonlyArray<string>
  }
}

declare module "*/page/SoundGate.js" {
  export class SoundGate {
    push(frame: Int16Array): Int16Array | undefined
  }
}

declare module "*/page/Resampler.js" {
  export class Resampler {
    constructor(from: number, to: number)
    push(samples: Float32Array, put: (sample: number) => void): void
  }
}

/** Wires the page when it is imported. */
declare module "*/page/Page.js" {}
