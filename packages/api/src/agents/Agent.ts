import { variant } from "../EntityFields.ts"
import { define } from "../VoiceError.ts"
import { AgentFields } from "./AgentFields.ts"

/** An agent. */
export const Agent = variant(AgentFields, "wire").annotations({ identifier: "Agent" })
export type Agent = typeof Agent.Type

export class AgentNotFound extends define("AgentNotFound", "AGENT_NOT_FOUND", 404, "agent not found") {}
export class AgentHasActiveCalls extends define(
  "AgentHasActiveCalls",
  "AGENT_HAS_ACTIVE_CALLS",
  409,
  "agent has active calls"
) {}
export class WebhookUrlRequired extends define(
  "WebhookUrlRequired",
  "WEBHOOK_URL_REQUIRED",
  400,
  "there is no webhook_url: set it first"
) {}
