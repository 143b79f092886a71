import { ConnectionLost } from "./ContextTurn.ts"
import type { RequestFailed } from "./RequestFailed.ts"

/** Why a context has failed; undefined: it came to its end. */
export type ContextFailure = RequestFailed | ConnectionLost | undefined

/** What concerns one context. The functions must not throw. */
export interface ContextListener<Message> {
  readonly onMessage: (message: Message) => void
  /** Called once, as the last one. */
  readonly onEnd: (failure: ContextFailure) => void
}

/** The contexts of one connection, to which a vendor's messages are passed on. Synchronous; nothing throws. */
export interface ContextRoutes<Message> {
  /** Adds a context. It ends at once when the connection has ended. */
  readonly add: (id: string, listener: ContextListener<Message>) => void
  /** Passes on a message; false: no such context is open. `hasAudio`: the turn cannot be repeated any more. */
  readonly pass: (id: string, message: Message, hasAudio: boolean) => boolean
  /** Nothing of a context is passed on any more, but it stays open until its end. */
  readonly mute: (id: string) => void
  /** A context has ended. */
  readonly finish: (id: string, failure?: ContextFailure) => void
  /**
   * The connection has ended, and all its contexts with it. `isLost`: without a reason of the vendor, as one that was kept
   * between turns and is closed just when it is used again. Contexts without audio then fail with `ConnectionLost`.
   */
  readonly end: (failure: RequestFailed, isLost: boolean) => void
}

export const make = <Message>(on: {
  /** A context has ended. */
  readonly finish?: (id: string) => void
  /** The connection has ended: called once, before its contexts end. */
  readonly end: () => void
}): ContextRoutes<Message> => {
  const contexts = new Map<string, { listener: ContextListener<Message> | undefined; hasAudio: boolean }>()
  let ended: RequestFailed | undefined

  const finish = (id: string, failure?: ContextFailure): void => {
    const context = contexts.get(id)
    if (context === undefined) return
    contexts.delete(id)
    on.finish?.(id)
    context.listener?.onEnd(failure)
  }
  return {
    add: (id, listener) => {
      if (ended === undefined) contexts.set(id, { listener, hasAudio: false })
      else listener.onEnd(new ConnectionLost({ reason: ended.reason }))
    },
    pass: (id, message, hasAudio) => {
      const context = contexts.get(id)
      if (context === undefined) return false
      context.hasAudio ||= hasAudio
      context.listener?.onMessage(message)
      return true
    },
    mute: (id) => {
      const context = contexts.get(id)
      if (context !== undefined) context.listener = undefined
    },
    finish,
    end: (failure, isLost) => {
      if (ended !== undefined) return
      ended = failure
      on.end()
      for (const [id, { hasAudio }] of contexts) {
        finish(id, isLost && !hasAudio ? new ConnectionLost({ reason: failure.reason }) : failure)
      }
    }
  }
}
