import { Context, Layer } from "effect"

/** What the engine asked the simulated speech providers for in one call; null where it has not asked yet. */
export interface CallRequest {
  readonly stt: {
    readonly language: string
    readonly format: string
    readonly keyterms: ReadonlyArray<string>
  } | null
  readonly tts: { readonly language: string; readonly voice: string } | null
}

/** Calls that are remembered; the oldest are forgotten. */
const kept = 2000

/** Remembers what was asked for in each call, so that tests can read it back. The latest request counts. */
export class CallRequests extends Context.Tag("@svc/plugin-simulated/CallRequests")<
  CallRequests,
  {
    readonly record: (callId: string, request: Partial<CallRequest>) => void
    /** Undefined for a call that was never seen, or is long ago. */
    readonly get: (callId: string) => CallRequest | undefined
  }
>() {
  static readonly layer: Layer.Layer<CallRequests> = Layer.sync(CallRequests, () => {
    const calls = new Map<string, CallRequest>()
    return {
      record: (callId, request) => {
        const known = calls.get(callId)
        calls.set(callId, { stt: null, tts: null, ...known, ...request })
        if (known !== undefined || calls.size <= kept) return
        for (const oldest of calls.keys()) {
          calls.delete(oldest)
          break
        }
      },
      get: (callId) => calls.get(callId)
    }
  })
}
