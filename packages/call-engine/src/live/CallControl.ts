import type { GatherRules } from "@svc/conversation/answers/GatherRules"
import { Context, type Effect } from "effect"

/**
 * The port through which everything outside the engine acts on live calls. Arguments and answers are plain data, so
 * that the node that holds a call may be another one: `not-here` means that no node that can be reached holds it.
 */
export class CallControl extends Context.Tag("@svc/call-engine/CallControl")<
  CallControl,
  {
    /** Ends an answered call as the API does; completes when its record is settled. */
    readonly end: (callId: string) => Effect.Effect<"ended" | "not-in-progress" | "not-here">
    /** Starts collecting digits from the caller. Of several concurrent requests one is accepted. */
    readonly gather: (
      callId: string,
      rules: GatherRules
    ) => Effect.Effect<"accepted" | "already-active" | "not-in-progress" | "not-here">
    /**
     * Transfers the caller to a number and waits for the outcome: `failure` is null, or why the transfer failed. Of
     * several concurrent requests one is accepted.
     */
    readonly transfer: (
      callId: string,
      destination: string
    ) => Effect.Effect<{ readonly failure: string | null } | "already-active" | "not-in-progress" | "not-here">
    /** The projects that have live calls on this node. */
    readonly localProjects: Effect.Effect<ReadonlyArray<number>>
    /**
     * Ends the live calls of these projects: answered calls end as by the API, the others fail. Does not wait, and
     * ignores calls that are ending already.
     */
    readonly endAllOf: (projects: ReadonlyArray<number>) => Effect.Effect<void>
  }
>() {}
