import { AgentsOfProject } from "@svc/agents/AgentsOfProject"
import { AgentsOnDatabase } from "@svc/agents/testing/AgentsOnDatabase"
import { Voices } from "@svc/agents/Voices"
import type { ProjectPrincipal } from "@svc/api/Principal"
import { Accounts } from "@svc/auth/Accounts"
import { AccountsRepo } from "@svc/auth/AccountsRepo"
import { Keys } from "@svc/auth/Keys"
import { KeysRepo } from "@svc/auth/KeysRepo"
import { KeyUse } from "@svc/auth/KeyUse"
import { Projects } from "@svc/auth/Projects"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Providers } from "@svc/providers/Providers"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { BigDecimal, Effect, Layer, Stream } from "effect"
import { NumbersOfAgent } from "../src/NumbersOfAgent.ts"
import { NumbersOfProject } from "../src/NumbersOfProject.ts"
import { PhoneNumbers } from "../src/PhoneNumbers.ts"
import { PhoneNumbersRepo } from "../src/PhoneNumbersRepo.ts"

/** One phone network, which carries nothing. */
const Plugins = Layer.succeed(Providers, {
  plugins: [],
  telephony: [
    {
      id: "simulated",
      capabilities: {
        formats: [],
        dtmfIn: true,
        dtmfOut: true,
        transfer: "none",
        earlyMedia: false,
        playbackMarks: "exact"
      },
      incoming: Stream.never,
      health: Effect.die("not asked"),
      routes: []
    }
  ],
  speechToText: [],
  textToSpeech: [],
  languageModel: [],
  voiceActivity: undefined
})
const Dns = Layer.succeed(Resolver, { resolve: (_, done) => done(null, [{ address: "93.184.216.34", family: 4 }]) })

/** Numbers, their agents and projects, on a database of their own. */
export const Test = Layer.mergeAll(PhoneNumbers.layer, NumbersOfAgent, NumbersOfProject).pipe(
  Layer.provideMerge(AgentsOfProject),
  Layer.provideMerge(Layer.mergeAll(AgentsOnDatabase, Projects.layer)),
  Layer.provide(Keys.layer),
  Layer.provideMerge(Layer.mergeAll(Accounts.layer, KeyUse.layer)),
  Layer.provide(Layer.mergeAll(PhoneNumbersRepo.layer, KeysRepo.layer, UrlSafety.layer, Voices.layer)),
  Layer.provide(Layer.mergeAll(AccountsRepo.layer, Dns, Plugins)),
  Layer.provideMerge(TestDatabase.layer)
)

/** The owner of a new project. */
export const owner = Effect.gen(function* () {
  const accounts = yield* Accounts
  const balance_eur = BigDecimal.fromBigInt(0n)
  const org = yield* accounts.createOrganization({ name: "Acme", tier: "payg", balance_eur })
  const project = yield* accounts.createProject(org.id, { name: "Default", description: null })
  const principal: ProjectPrincipal = { kind: "project", key_id: 1, scope: "full", org, project }
  return principal
})
