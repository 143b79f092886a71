import { Embedding } from "@svc/providers/Embedding"
import { LanguageModel } from "@svc/providers/LanguageModel"
import { ObjectStore } from "@svc/providers/ObjectStore"
import { type Capabilities, type Plugin, PluginError } from "@svc/providers/Plugin"
import { SpeechToText } from "@svc/providers/SpeechToText"
import { Telephony } from "@svc/providers/Telephony"
import { TextToSpeech } from "@svc/providers/TextToSpeech"
import { VoiceActivity } from "@svc/providers/VoiceActivity"
import { Cause, Context, Duration, Effect, type Exit, Fiber, Layer, Scope } from "effect"
import { errorSummary } from "../ErrorSummary.ts"
import { asPlugin, makeHost } from "../host/PluginHost.ts"
import { capabilityNames, type PluginSettings } from "./PluginConfig.ts"

/** The running providers of one plugin. */
export interface BuiltPlugin {
  readonly telephony: Context.Tag.Service<Telephony> | undefined
  readonly speechToText: Context.Tag.Service<SpeechToText> | undefined
  readonly textToSpeech: Context.Tag.Service<TextToSpeech> | undefined
  readonly languageModel: Context.Tag.Service<LanguageModel> | undefined
  readonly voiceActivity: Context.Tag.Service<VoiceActivity> | undefined
  readonly embedding: Context.Tag.Service<Embedding> | undefined
  readonly objectStore: Context.Tag.Service<ObjectStore> | undefined
}

/** How long a plugin may take to release its resources. */
const releaseDeadline = Duration.seconds(5)

const service = <I, S>(
  tag: Context.Tag<I, S>,
  layer: Layer.Layer<I, PluginError> | undefined,
  memoMap: Layer.MemoMap,
  scope: Scope.Scope
): Effect.Effect<S | undefined, PluginError> =>
  layer === undefined
    ? Effect.as(Effect.void, undefined)
    : Layer.buildWithMemoMap(layer, memoMap, scope).pipe(Effect.map((context) => Context.get(context, tag)))

const build = (capabilities: Capabilities, scope: Scope.Scope): Effect.Effect<BuiltPlugin, PluginError> =>
  Effect.gen(function* () {
    const memoMap = yield* Layer.makeMemoMap
    return {
      telephony: yield* service(Telephony, capabilities.telephony, memoMap, scope),
      speechToText: yield* service(SpeechToText, capabilities.speechToText, memoMap, scope),
      textToSpeech: yield* service(TextToSpeech, capabilities.textToSpeech, memoMap, scope),
      languageModel: yield* service(LanguageModel, capabilities.languageModel, memoMap, scope),
      voiceActivity: yield* service(VoiceActivity, capabilities.voiceActivity, memoMap, scope),
      embedding: yield* service(Embedding, capabilities.embedding, memoMap, scope),
      objectStore: yield* service(ObjectStore, capabilities.objectStore, memoMap, scope)
    }
  })

/** Closes a plugin's scope. When that fails or hangs, logs a warning and continues. */
const release = (plugin: string, scope: Scope.CloseableScope, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> =>
  // In a fiber of its own, which can be abandoned: the fiber that runs finalizers is uninterruptible.
  Effect.forkDaemon(Effect.interruptible(Scope.close(scope, exit))).pipe(
    Effect.flatMap((closing) =>
      Effect.interruptible(Fiber.join(closing)).pipe(
        Effect.timeoutFail({
          duration: releaseDeadline,
          onTimeout: () =>
            new PluginError({ plugin, reason: `did not stop within ${Duration.format(releaseDeadline)}` })
        })
      )
    ),
    Effect.catchAllCause((cause) =>
      Effect.logWarning(`plugin ${plugin}: failed to stop: ${errorSummary(Cause.squash(cause))}`)
    )
  )

/** The capabilities to which the operator limits a plugin. It must provide each of them. */
const limited = (plugin: string, provided: Capabilities, { only }: PluginSettings) => {
  if (only === undefined) return Effect.succeed(provided)
  const missing = only.filter((capability) => provided[capability] === undefined)
  if (missing.length > 0) {
    const names = missing.map((capability) => capabilityNames[capability]).join(", ")
    return Effect.fail(
      new PluginError({
        plugin,
        reason: `it is to provide ${names}, and does not: it cannot, or a setting that this needs is not set`
      })
    )
  }
  const kept: Capabilities = Object.fromEntries(only.map((capability) => [capability, provided[capability]]))
  return Effect.succeed(kept)
}

/**
 * Builds a plugin's layers with one memo map, so that shared layers are built once. They live until the scope closes.
 * When one of them fails, throws or takes longer than `deadline`, the others are released before the error is returned.
 */
export const buildPlugin = Effect.fn("PluginBuild.build")(function* (
  plugin: Plugin,
  settings: PluginSettings,
  deadline: Duration.Duration
) {
  const fail = (reason: string) => new PluginError({ plugin: plugin.name, reason })
  const host = yield* makeHost(plugin.name)
  const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => release(plugin.name, scope, exit))
  return yield* Effect.suspend(() => limited(plugin.name, plugin.provides(settings.config, host), settings)).pipe(
    Effect.flatMap((capabilities) => build(capabilities, scope)),
    asPlugin(plugin.name),
    // An uninterruptible layer must not delay the error.
    Effect.disconnect,
    Effect.timeoutFail({
      duration: deadline,
      onTimeout: () => fail(`did not start within ${Duration.format(deadline)}`)
    }),
    Effect.sandbox,
    Effect.mapError((cause) => {
      const error = Cause.squash(cause)
      return error instanceof PluginError ? error : fail(`failed to start: ${errorSummary(error)}`)
    })
  )
})
