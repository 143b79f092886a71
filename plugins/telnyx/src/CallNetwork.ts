import type { Host } from "@svc/providers/Host"
import type { SharedTimeout } from "@svc/providers/SharedTimeout"
import type { Effect } from "effect"
import type { CallFiles } from "./CallFiles.ts"
import type { Commands } from "./Commands.ts"
import type { MediaStreams } from "./MediaStreams.ts"
import type { CallPayload } from "./WebhookEvent.ts"

/** Takes the webhooks of a call. */
export interface CallListener {
  readonly onWebhook: (type: string, payload: CallPayload) => void
}

/** What a call needs of the plugin. */
export interface CallNetwork {
  readonly commands: Commands
  readonly streams: MediaStreams
  /** Of calls that we place or transfer, by the text in their `client_state`; and of those whose id is known. */
  readonly listeners: {
    readonly byId: Map<string, CallListener>
    readonly byState: Map<string, CallListener>
    /** Transfers by the session of the call, which the other leg shares. */
    readonly bySession: Map<string, CallListener>
  }
  /** Where webhooks go. */
  readonly webhookUrl: string
  /** Runs in the background, until the plugin stops. */
  readonly fork: (effect: Effect.Effect<void>) => void
  /** Milliseconds, by a clock that no change of the system's time moves. */
  readonly now: () => number
  /** For audio that waits for more. */
  readonly flushAfter: SharedTimeout
  /** For transfers without an outcome. */
  readonly transferLimit: SharedTimeout
  readonly log: Host["log"]
  readonly files: CallFiles
  readonly onStreamReplaced: () => void
  /** The calls whose media flows, or is to flow again. */
  readonly live: Set<{ readonly check: () => void; readonly shutDown: Effect.Effect<void> }>
}
