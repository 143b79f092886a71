/** Globals of an AudioWorklet, which the types of the DOM do not have. See the Web Audio API, AudioWorkletGlobalScope. */
declare const sampleRate: number
declare const currentFrame: number
declare class AudioWorkletProcessor {
  readonly port: MessagePort
}
declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void
