import type { CallAgent } from "@svc/agents/Agents"
import { facts } from "@svc/conversation/testing/Script"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { ConfigProvider, Layer } from "effect"
import { AgentServerClient } from "../../src/agent-server/AgentServerClient.ts"

/** The client of agents' servers, with or without access to private addresses. */
export const agentServerClient = (allowPrivate = true, resolver = Resolver.layer) =>
  AgentServerClient.layer.pipe(
    Layer.provide(UrlSafety.layer),
    Layer.provide(resolver),
    Layer.provide(
      Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["SVC_ALLOW_PRIVATE_URLS", String(allowPrivate)]])))
    )
  )

/** An agent with a server at this address. */
export const agentAt = (server_url: string): CallAgent => ({
  id: 1,
  public_id: facts.agent_id,
  org_id: 1,
  project_id: 1,
  name: "Test",
  language: "en-US",
  voice: "Sarah",
  max_duration: 1800,
  recording: false,
  end_call_enabled: true,
  has_knowledge_bases: false,
  server_url,
  server_secret: "s3cret"
})
