import { Effect, type Scope } from "effect"

/** Hooks by name, in the order of registration; each until its scope closes. */
const makeHooks = <H>() => {
  const hooks = new Map<string, H>()
  return {
    all: (): ReadonlyArray<H> => [...hooks.values()],
    add: (name: string, hook: H): Effect.Effect<void, never, Scope.Scope> =>
      Effect.acquireRelease(
        Effect.sync(() => void hooks.set(name, hook)),
        () => Effect.sync(() => void hooks.delete(name))
      )
  }
}

/** Hooks of other slices: what to do when an agent is deleted, and whether it is in use. */
export const agentHooks = () => {
  const deletion = makeHooks<(agentId: number) => Effect.Effect<void>>()
  const activity = makeHooks<(agentId: number) => Effect.Effect<boolean>>()
  return {
    onDelete: deletion.add,
    activeWhen: activity.add,
    /** Runs the deletion hooks, in the transaction of the deletion. */
    runDeletionHooks: (agentId: number) =>
      Effect.suspend(() => Effect.forEach(deletion.all(), (hook) => hook(agentId), { discard: true })),
    /** Whether any hook reports live calls of the agent. */
    isActive: (agentId: number) => Effect.suspend(() => Effect.exists(activity.all(), (look) => look(agentId)))
  }
}
export type AgentHooks = ReturnType<typeof agentHooks>
