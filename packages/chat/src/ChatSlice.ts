import type { HandlerRegistry } from "@svc/api/Handlers"
import type { RateLimits } from "@svc/auth/RateLimits"
import type { TierLimits } from "@svc/auth/TierLimits"
import type { Providers } from "@svc/providers/Providers"
import { Layer } from "effect"
import { Chat } from "./Chat.ts"
import { ChatHttp } from "./ChatHttp.ts"
import { ChatLimits } from "./ChatLimits.ts"

/** Chat completions with their handlers. */
export const layer: Layer.Layer<Chat, never, HandlerRegistry | Providers | RateLimits | TierLimits> = ChatHttp.pipe(
  Layer.provideMerge(Chat.layer),
  Layer.provide(ChatLimits.layer)
)
