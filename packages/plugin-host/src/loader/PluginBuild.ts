import { LanguageModel } from "@svc/providers/LanguageModel"
import { type Capabilities, type Plugin, PluginError } from "@svc/providers/Plugin"
import { SpeechToText } from "@svc/providers/SpeechToText"
import { Telephony } from "@svc/providers/Telephony"
import { TextToSpeech } from "@svc/providers/TextToSpeech"
import { VoiceActivity } from "@svc/providers/VoiceActivity"
import { Cause, Context, Duration, Effect, type Exit, Fiber, Layer, Scope } from "effect"
import { oneLine } from "./OneLine.ts"

/** What one plugin provides, running. */
export interface BuiltPlugin {
  readonly telephony: Context.Tag.Service<Telephony> | undefined
  readonly speechToText: Context.Tag.Service<SpeechToText> | undefined
  readonly textToSpeech: Context.Tag.Service<TextToSpeech> | undefined
  readonly languageModel: Context.Tag.Service<LanguageModel> | undefined
  readonly voiceActivity: Context.Tag.Service<VoiceActivity> | undefined
}

/** How long a plugin may take to release what it holds. */
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
      voiceActivity: yield* service(VoiceActivity, capabilities.voiceActivity, memoMap, scope)
    }
  })

/** Closes a plugin's scope; one that hangs or fails while it lets go is left behind with a warning. */
const release = (plugin: string, scope: Scope.CloseableScope, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> =>
  // In a fiber apart that can be left behind: the one that runs finalizers is not to be interrupted.
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
      Effect.logWarning(`plugin ${plugin}: failed while it stopped: ${oneLine(Cause.squash(cause))}`)
    )
  )

/**
 * Builds a plugin's layers with one memo map, so that what they share is built once. They live until the scope closes; when
 * one of them fails, throws or takes longer than `deadline`, those that were built are closed again before the error.
 */
export const buildPlugin = Effect.fn("PluginBuild.build")(function* (
  plugin: Plugin,
  config: unknown,
  deadline: Duration.Duration
) {
  const fail = (reason: string) => new PluginError({ plugin: plugin.name, reason })
  const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => release(plugin.name, scope, exit))
  return yield* Effect.suspend(() => build(plugin.provides(config), scope)).pipe(
    // A layer that cannot be interrupted must not hold up the error.
    Effect.disconnect,
    Effect.timeoutFail({
      duration: deadline,
      onTimeout: () => fail(`did not start within ${Duration.format(deadline)}`)
    }),
    Effect.sandbox,
    Effect.mapError((cause) => {
      const error = Cause.squash(cause)
      return error instanceof PluginError ? error : fail(`failed to start: ${oneLine(error)}`)
    })
  )
})
