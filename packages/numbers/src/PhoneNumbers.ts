import type { PhoneNumber, PhoneNumberInUse, PhoneNumberNotFound } from "@svc/api/numbers/PhoneNumber"
import type { PrincipalProject, ProjectPrincipal } from "@svc/api/Principal"
import type { ValidationError } from "@svc/api/VoiceError"
import { Context, type Effect, type Option } from "effect"

/** Where a call to one of our numbers goes. */
export interface NumberRoute {
  readonly id: number
  /** E.164. */
  readonly number: string
  readonly org_id: number
  readonly project_id: number
  /** Numeric id of the agent that answers; null when none is assigned. */
  readonly agent_id: number | null
}

/** Phone numbers of a project (spec 4.6, decisions §6.2). */
export class PhoneNumbers extends Context.Tag("@svc/numbers/PhoneNumbers")<
  PhoneNumbers,
  {
    /** Newest first; `after` is the numeric id of the last number seen. */
    readonly list: (
      project: PrincipalProject,
      query: { readonly limit: number; readonly after?: string | undefined }
    ) => Effect.Effect<
      { readonly phone_numbers: ReadonlyArray<PhoneNumber>; readonly next_cursor: string | null },
      ValidationError
    >
    /** Registers a number that the operator already owns, at no cost. A number is active once in the whole system. */
    readonly import: (
      owner: ProjectPrincipal,
      body: { readonly number: string; readonly telephony: string }
    ) => Effect.Effect<PhoneNumber, ValidationError | PhoneNumberInUse>
    /** Gives the number to an agent of the same project (public or numeric id), or to none. `id` is numeric. */
    readonly assign: (
      project: PrincipalProject,
      id: string,
      agentId: string | number | null
    ) => Effect.Effect<PhoneNumber, ValidationError | PhoneNumberNotFound>
    /** The active number that was dialled on this telephony plugin. `to` may lack the plus, or carry spaces. */
    readonly route: (to: string, telephony: string) => Effect.Effect<Option.Option<NumberRoute>>
  }
>() {}
