import type { Agent } from "@svc/api/agents/Agent"
import type { CallTimeline } from "@svc/api/calls/CallTimeline"
import type { PhoneNumber } from "@svc/api/numbers/PhoneNumber"
import type { DeliveryRecord } from "@svc/api/webhooks/Delivery"
import { Data } from "effect"
import type { PhoneEvent } from "./PhoneEvent.ts"
import type { ApiFailure } from "./VoiceClient.ts"

/**
 * The inputs of the reducer: events of the phone, actions of the user, and updates from the voice API and the clock.
 */
export type Input = PhoneEvent | Action | Update

/** An action of the user. */
export type Action = Data.TaggedEnum<{
  Dialled: { readonly to: string; readonly from: string }
  /** An outbound call of the agent was requested. */
  Awaited: { readonly from: string }
  Said: { readonly text: string }
  Pressed: { readonly digits: string }
  HungUp: {}
}>
export const Action = Data.taggedEnum<Action>()

/** Data from the voice API, or a tick of the clock. `call` is the `id` of the call's view. */
export type Update = Data.TaggedEnum<{
  NumbersListed: { readonly numbers: ReadonlyArray<PhoneNumber>; readonly agents: ReadonlyArray<Agent> }
  TimelineRead: { readonly call: number; readonly timeline: CallTimeline }
  /** The timeline could not be read. */
  TimelineFailed: { readonly call: number; readonly message: string }
  DeliveriesRead: { readonly call: number; readonly deliveries: ReadonlyArray<DeliveryRecord> }
  /** The address of the debug page. */
  LinkRead: { readonly call: number; readonly url: string }
  ApiFailed: Pick<ApiFailure, "kind" | "message">
  Ticked: {}
}>
export const Update = Data.taggedEnum<Update>()
