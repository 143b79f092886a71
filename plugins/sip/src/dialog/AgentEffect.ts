import type { Message, Request, Response } from "../message/Message.ts"
import type { Peer } from "../transaction/Peer.ts"
import type { CallEvent } from "./Output.ts"

/** What a user agent requests from the shell, in order. */
export type AgentEffect =
  | { readonly _tag: "Send"; readonly message: Message; readonly peer: Peer }
  /**
   * A request whose next hop is to be found; then `UserAgent.send`, or `UserAgent.unreachable`. `hasAlternative`: it can
   * go another way, so that a server which does not answer is given up soon.
   */
  | {
      readonly _tag: "Locate"
      readonly call: string
      readonly id: string
      readonly request: Request
      /** Where the INVITE of the call came from, or went to. */
      readonly flow?: Peer | undefined
      readonly hasAlternative?: boolean
    }
  | AgentEvent

/** A request whose next hop is to be found. */
export type Locate = Extract<AgentEffect, { readonly _tag: "Locate" }>

/** What a user agent reports, beside messages to send. */
export type AgentEvent =
  /** An INVITE that begins a call, with where it came from. `user`: whose password it has, where the shell asked for one. */
  | {
      readonly _tag: "Incoming"
      readonly call: string
      readonly request: Request
      readonly peer: Peer
      readonly user?: string
    }
  | { readonly _tag: "Event"; readonly call: string; readonly event: CallEvent }
  /** A response to a request outside of calls. */
  | { readonly _tag: "Response"; readonly call: string; readonly sent: Request; readonly response: Response }
  | { readonly _tag: "Failed"; readonly call: string; readonly sent: Request; readonly reason: "timeout" | "transport" }
