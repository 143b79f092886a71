import { Data, type Layer, type Schema } from "effect"
import type { Embedding } from "./Embedding.ts"
import type { Host } from "./Host.ts"
import type { LanguageModel } from "./LanguageModel.ts"
import type { ObjectStore } from "./ObjectStore.ts"
import type { SpeechToText } from "./SpeechToText.ts"
import type { Telephony } from "./Telephony.ts"
import type { TextToSpeech } from "./TextToSpeech.ts"
import type { VoiceActivity } from "./VoiceActivity.ts"

/** The version of this contract. A plugin names the range it was written for, e.g. `^2.0.0`. */
export const contractVersion = "2.0.0"

/** A plugin that cannot start; `reason` is one plain sentence for the operator. */
export class PluginError extends Data.TaggedError("PluginError")<{ readonly plugin: string; readonly reason: string }> {
  override get message(): string {
    return `plugin ${this.plugin}: ${this.reason}`
  }
}

/** The capabilities of a plugin. Its layers are built together, so a layer that two of them share is built once. */
export interface Capabilities {
  readonly telephony?: Layer.Layer<Telephony, PluginError>
  readonly speechToText?: Layer.Layer<SpeechToText, PluginError>
  readonly textToSpeech?: Layer.Layer<TextToSpeech, PluginError>
  readonly languageModel?: Layer.Layer<LanguageModel, PluginError>
  readonly voiceActivity?: Layer.Layer<VoiceActivity, PluginError>
  readonly embedding?: Layer.Layer<Embedding, PluginError>
  readonly objectStore?: Layer.Layer<ObjectStore, PluginError>
}

const TypeId: unique symbol = Symbol.for("@svc/providers/Plugin")

/** A plugin: the default export of its package. */
export interface Plugin {
  readonly [TypeId]: typeof TypeId
  /** Short name, lower case: `simulated`, `openai`. Its settings are `SVC_<NAME>_…`. */
  readonly name: string
  /** Semver range of the contract it was written for. */
  readonly apiVersion: string
  /**
   * Settings: each field `someKey` is read from `SVC_<NAME>_SOME_KEY`. Encoded side: strings, optional where there is a
   * default.
   */
  readonly config: Schema.Schema<unknown, { readonly [key: string]: string | undefined }>
  /** Called once at the start. The layers are built afterwards. */
  readonly provides: (config: unknown, host: Host) => Capabilities
}

/**
 * Makes a plugin.
 *
 * ```ts
 * export default Plugin.make({
 *   name: "deepgram",
 *   apiVersion: "^2.0.0",
 *   config: Schema.Struct({ apiKey: Schema.Redacted(Schema.NonEmptyString) }),
 *   provides: (config, host) => ({ speechToText: Deepgram.layer(config, host) })
 * })
 * ```
 */
export const make = <A, I extends { readonly [K in keyof I]: string | undefined }>(options: {
  readonly name: string
  readonly apiVersion: string
  readonly config: Schema.Schema<A, I>
  readonly provides: (config: A, host: Host) => Capabilities
}): Plugin => ({
  [TypeId]: TypeId,
  name: options.name,
  apiVersion: options.apiVersion,
  // The loader passes the values that this schema decodes to this function, so the casts are safe.
  config: options.config as unknown as Plugin["config"],
  provides: options.provides as Plugin["provides"]
})

/** Whether a module's default export is a plugin. */
export const isPlugin = (u: unknown): u is Plugin => typeof u === "object" && u !== null && TypeId in u
