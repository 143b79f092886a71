import type { ChatCompletion } from "@svc/api/chat/ChatCompletion"
import type { ChatConcurrentLimitExceeded, ChatRateLimitExceeded, UnsupportedModel } from "@svc/api/chat/ChatError"
import type { ChatRequest } from "@svc/api/chat/ChatRequest"
import type { EventStream, Streamed } from "@svc/api/EventStream"
import { newChatCompletionId } from "@svc/api/Ids"
import type { Principal } from "@svc/api/Principal"
import type { Unavailable, ValidationError } from "@svc/api/VoiceError"
import { Providers } from "@svc/providers/Providers"
import * as SharedTimeout from "@svc/providers/SharedTimeout"
import { Context, Duration, Effect, Layer } from "effect"
import { ChatLimits, type Counted } from "./ChatLimits.ts"
import { type PreparedRequest, prepare } from "./PreparedRequest.ts"
import { longestTime, RunningCompletion } from "./RunningCompletion.ts"

type Stream = Context.Tag.Service<EventStream>
type ChatError = ChatConcurrentLimitExceeded | ChatRateLimitExceeded | Unavailable | UnsupportedModel | ValidationError

/** Chat completions by the server's language models. See docs/reference/chat.md. */
export class Chat extends Context.Tag("@svc/chat/Chat")<
  Chat,
  {
    /**
     * Answers a request: with the whole completion, or by `stream` when the request asks for that. Interruption stops the
     * model.
     */
    readonly complete: (
      org: Principal["org"],
      body: ChatRequest,
      stream: Stream
    ) => Effect.Effect<ChatCompletion | Streamed, ChatError>
    /** Whether there is a language model. */
    readonly isAvailable: boolean
  }
>() {
  static readonly layer: Layer.Layer<Chat, never, ChatLimits | Providers> = Layer.effect(
    Chat,
    Effect.gen(function* () {
      const limits = yield* ChatLimits
      const { languageModel: models } = yield* Providers
      const clock = yield* Effect.clock
      const timeLimit = yield* SharedTimeout.make(Duration.toMillis(longestTime))

      /** Answers a request; interruption stops the answer. */
      const answer = (id: string, prepared: PreparedRequest, stream: Stream, finish: Counted["finish"]) =>
        Effect.flatMap(Effect.runtime<never>(), (runtime) =>
          Effect.async<ChatCompletion | Streamed, Unavailable>((resume) => {
            const created = clock.unsafeCurrentTimeMillis()
            const options = { id, created, prepared, models, stream, runtime, timeLimit, finish, onOutcome: resume }
            const running = new RunningCompletion(options)
            return Effect.sync(() => running.stop())
          })
        )

      return {
        isAvailable: models.length > 0,
        complete: (org, body, stream) =>
          Effect.flatMap(newChatCompletionId, (id) =>
            Effect.flatMap(prepare(id, body), (prepared) =>
              limits.within(org, id)(({ finish }) => answer(id, prepared, stream, finish))
            )
          )
      }
    })
  )
}
