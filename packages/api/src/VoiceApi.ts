import { HttpApi, OpenApi } from "@effect/platform"
import { OrganizationApi } from "./accounts/OrganizationApi.ts"
import { ProjectApi } from "./accounts/ProjectApi.ts"
import { OrgProjectsApi, ProjectsApi } from "./accounts/ProjectsApi.ts"
import { AddressesApi } from "./addresses/AddressesApi.ts"
import { AgentsApi } from "./agents/AgentsApi.ts"
import { CreditsApi } from "./billing/CreditsApi.ts"
import { UsageApi } from "./billing/UsageApi.ts"
import { BrowserCallsApi } from "./calls/BrowserCalls.ts"
import { CallsApi } from "./calls/CallsApi.ts"
import { CallTimelineApi } from "./calls/CallTimeline.ts"
import { ChatApi } from "./chat/ChatApi.ts"
import { HealthApi } from "./health/HealthApi.ts"
import { KnowledgeBasesApi } from "./knowledge/KnowledgeBasesApi.ts"
import { PhoneNumbersApi } from "./numbers/PhoneNumbersApi.ts"
import { Authorization } from "./Principal.ts"
import { SmsApi } from "./sms/SmsApi.ts"
import { TestSessionsApi } from "./test-sessions/TestSessionsApi.ts"
import { AuthRateLimited, InternalError, RateLimitExceeded, Unavailable } from "./VoiceError.ts"
import { VerifyApi } from "./verify/VerifyApi.ts"
import { VoicesApi } from "./voices/VoicesApi.ts"
import { CallDeliveriesApi } from "./webhooks/CallDeliveriesApi.ts"
import { ProjectWebhookApi } from "./webhooks/ProjectWebhookApi.ts"
import { WebhooksApi } from "./webhooks/WebhooksApi.ts"

/** What a reader of the reference should know before the endpoints. */
const about = `Voice agents that answer phone calls. A key goes in \`Authorization: Bearer <key>\` or in \`X-Api-Key: <key>\`. A project key works in its project; an organization key manages projects and keys, and works in the project that \`X-Project-Id\` names. A \`read\` key may only GET.

Every error has the same body: \`code\` for programs, \`message\` for people (\`error\` repeats it), \`details\` with a message per field when the code is \`VALIDATION_ERROR\`, and \`retryAfter\` in whole seconds when the status is 429.

Ids are public (\`agent_…\`) or numeric, and either is taken in paths. Lists have \`limit\` and \`after\`: give the \`next_cursor\` of one page as \`after\` of the next, until it is null. Times are ISO 8601 in UTC, money is EUR. Fields and query parameters that are not known are ignored.

Each organization has a number of requests per minute by its tier. The \`X-RateLimit-…\` headers of each answer tell what is left.`

/** The voice API, `{base_url}/v1`. */
export const VoiceApi = HttpApi.make("voice")
  .add(OrganizationApi)
  .add(OrgProjectsApi)
  .add(ProjectsApi)
  .add(ProjectApi)
  .add(AgentsApi)
  .add(KnowledgeBasesApi)
  .add(CallsApi)
  .add(CallDeliveriesApi)
  .add(CallTimelineApi)
  .add(BrowserCallsApi)
  .add(TestSessionsApi)
  .add(WebhooksApi)
  .add(ProjectWebhookApi)
  .add(PhoneNumbersApi)
  .add(AddressesApi)
  .add(SmsApi)
  .add(VoicesApi)
  .add(VerifyApi)
  .add(ChatApi)
  .add(UsageApi)
  .add(CreditsApi)
  .add(HealthApi)
  .addError(InternalError.wire)
  .addError(Unavailable.wire)
  .addError(RateLimitExceeded.wire)
  .addError(AuthRateLimited.wire)
  .middleware(Authorization)
  .annotate(OpenApi.Title, "Svc voice API")
  .annotate(OpenApi.Description, about)
  .annotate(OpenApi.Version, "2026-11-01")
