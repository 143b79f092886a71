import { HttpApi, OpenApi } from "@effect/platform"
import { OrganizationApi } from "./accounts/OrganizationApi.ts"
import { ProjectApi } from "./accounts/ProjectApi.ts"
import { OrgProjectsApi, ProjectsApi } from "./accounts/ProjectsApi.ts"
import { AgentsApi } from "./agents/AgentsApi.ts"
import { CreditsApi } from "./billing/CreditsApi.ts"
import { UsageApi } from "./billing/UsageApi.ts"
import { CallsApi } from "./calls/CallsApi.ts"
import { HealthApi } from "./health/HealthApi.ts"
import { PhoneNumbersApi } from "./numbers/PhoneNumbersApi.ts"
import { Authorization } from "./Principal.ts"
import { InternalError, Unavailable } from "./VoiceError.ts"

/** The voice API, `{base_url}/v1` (spec part A). */
export const VoiceApi = HttpApi.make("voice")
  .add(OrganizationApi)
  .add(OrgProjectsApi)
  .add(ProjectsApi)
  .add(ProjectApi)
  .add(AgentsApi)
  .add(CallsApi)
  .add(PhoneNumbersApi)
  .add(UsageApi)
  .add(CreditsApi)
  .add(HealthApi)
  .addError(InternalError.wire)
  .addError(Unavailable.wire)
  .middleware(Authorization)
  .annotate(OpenApi.Title, "Svc voice API")
  .annotate(OpenApi.Version, "2026-11-01")
