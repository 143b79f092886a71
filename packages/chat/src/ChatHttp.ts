import { type ChatModel, chatModel } from "@svc/api/chat/ChatCompletion"
import { ModelNotFound } from "@svc/api/chat/ChatError"
import { EventStream } from "@svc/api/EventStream"
import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect, type Layer } from "effect"
import { Chat } from "./Chat.ts"

/** 2026-11-01, the date of the API's version. */
const model: ChatModel = { id: chatModel, object: "model", created: 1_793_491_200, owned_by: "svc" }

/** Handlers of `/v1/chat/completions` and `/v1/models`. */
export const ChatHttp: Layer.Layer<never, never, Chat | Handlers.HandlerRegistry> = Handlers.group(
  VoiceApi,
  "chat",
  Effect.map(Chat, (chat) => ({
    complete: ({ payload }) =>
      Effect.flatMap(CurrentPrincipal, ({ org }) =>
        Effect.flatMap(EventStream, (stream) => chat.complete(org, payload, stream))
      ),
    models: () => Effect.succeed({ object: "list" as const, data: chat.isAvailable ? [model] : [] }),
    model: ({ path }) =>
      path.model === chatModel && chat.isAvailable ? Effect.succeed(model) : Effect.fail(new ModelNotFound())
  }))
)
