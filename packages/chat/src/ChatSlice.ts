import type { SqlClient } from "@effect/sql"
import type { HandlerRegistry } from "@svc/api/Handlers"
import type { RateLimits } from "@svc/auth/RateLimits"
import type { TierLimits } from "@svc/auth/TierLimits"
import type { NodeLease } from "@svc/cluster/NodeLease"
import type { Providers } from "@svc/providers/Providers"
import { Layer } from "effect"
import { Chat } from "./Chat.ts"
import { ChatHttp } from "./ChatHttp.ts"
import { ChatLimits } from "./ChatLimits.ts"
import { ChatSlots } from "./ChatSlots.ts"
import { ChatSlotsRepo } from "./ChatSlotsRepo.ts"

/** Chat completions with their handlers. */
export const layer: Layer.Layer<
  Chat,
  never,
  HandlerRegistry | NodeLease | Providers | RateLimits | SqlClient.SqlClient | TierLimits
> = ChatHttp.pipe(
  Layer.provideMerge(Chat.layer),
  Layer.provide(ChatLimits.layer),
  Layer.provide(ChatSlots.layer),
  Layer.provide(ChatSlotsRepo.layer)
)
