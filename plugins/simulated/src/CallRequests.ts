import { Context, Layer } from "effect"

/** The latest requests of one call to the simulated speech providers; null before the first. */
export interface CallRequest {
  readonly stt: {
    readonly language: string
    readonly format: string
    readonly keyterms: ReadonlyArray<string>
  } | null
  readonly tts: { readonly language: string; readonly voice: string; readonly speed?: number } | null
}

/** The number of calls that are kept; the oldest are dropped. */
const kept = 2000

/** Keeps the latest speech requests of each call, so that tests can read them. */
export class CallRequests extends Context.Tag("@svc/plugin-simulated/CallRequests")<
  CallRequests,
  {
    readonly record: (callId: string, request: Partial<CallRequest>) => void
    /** Undefined for a call that is unknown or was dropped. */
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
