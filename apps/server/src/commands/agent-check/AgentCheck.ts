import { randomBytes } from "node:crypto"
import type { CallAgent } from "@svc/agents/Agents"
import { AgentsRepo } from "@svc/agents/AgentsRepo"
import { newAgentId } from "@svc/api/Ids"
import { AgentServerClient, transcriptMs } from "@svc/call-engine/agent-server/AgentServerClient"
import { publicPart } from "@svc/call-engine/agent-server/ServerRequest"
import { abilitiesOf } from "@svc/call-engine/session/VoiceChoice"
import type { CallTool } from "@svc/conversation/answers/CallConfig"
import { isRecord } from "@svc/conversation/answers/FieldReader"
import { Database } from "@svc/database/Database"
import { PhoneNumbersRepo } from "@svc/numbers/PhoneNumbersRepo"
import { Providers } from "@svc/providers/Providers"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { Config, Console, Effect, Either, Layer, Option, Redacted, Schema } from "effect"
import { commandPlugins } from "../../PluginHosting.ts"
import { exitCodes, Reported } from "../../StartFailure.ts"
import { type Check, noTool, refusedCheck, skipped, startedCheck, toolCheck, transcriptCheck } from "./Check.ts"
import { lineOf, linesOf, summaryOf } from "./CheckReport.ts"
import { sampleArguments } from "./SampleArguments.ts"
import * as SampleCall from "./SampleCall.ts"

/** Options of `svc agent check`. */
export interface CheckOptions {
  /** An agent's public or numeric id, or the URL of a server. */
  readonly agent: string
  readonly secret: Option.Option<Redacted.Redacted>
  readonly from: string
  readonly to: Option.Option<string>
  /** Of menus, and of tools with `gather`. */
  readonly digits: string
  readonly tool: Option.Option<string>
  readonly with: Option.Option<string>
  readonly allTools: boolean
  readonly transcript: boolean
  readonly strict: boolean
  readonly dev: boolean
  readonly json: boolean
}

/** The command line cannot be carried out; one line on standard error. */
const refuse = (message: string) =>
  Effect.zipRight(Console.error(`svc: ${message}`), Effect.fail(new Reported(exitCodes.usage)))

/** The server to check. `number`: one that the agent answers. */
interface Target {
  readonly agent: CallAgent
  readonly number: string | null
  /** Whether `agent.server_secret` is the one with which the server verifies requests. */
  readonly hasSecret: boolean
}

const isUrl = (text: string): boolean => /^https?:\/\//i.test(text)

const ofAgent = (id: string) =>
  Effect.gen(function* () {
    const found = yield* Effect.flatMap(AgentsRepo, (repo) => repo.findOfAnyProject(id))
    if (Option.isNone(found)) {
      return yield* refuse(
        `there is no agent ${id}: give its public or numeric id (GET /v1/agents lists them), or the URL of its server`
      )
    }
    const [first] = yield* Effect.flatMap(PhoneNumbersRepo, (repo) => repo.ofAgent(found.value.id))
    return { agent: found.value, number: first?.number ?? null, hasSecret: true } satisfies Target
  }).pipe(
    Effect.provide(Layer.merge(AgentsRepo.layer, PhoneNumbersRepo.layer).pipe(Layer.provideMerge(Database.layer)))
  )

/** An agent with the settings that a new one has. */
const ofUrl = (server_url: string) =>
  Effect.gen(function* () {
    if (!URL.canParse(server_url)) return yield* refuse(`${server_url} is not a URL`)
    const agent: CallAgent = {
      id: 0,
      public_id: yield* newAgentId,
      org_id: 0,
      project_id: 0,
      name: "Check",
      language: "en-US",
      voice: "Sarah",
      max_duration: 1800,
      recording: false,
      end_call_enabled: true,
      has_knowledge_bases: false,
      server_url,
      server_secret: randomBytes(32).toString("hex")
    }
    return { agent, number: null, hasSecret: false } satisfies Target
  })

const targetOf = (options: CheckOptions) =>
  Effect.gen(function* () {
    const target: Target = yield* isUrl(options.agent) ? ofUrl(options.agent) : ofAgent(options.agent)
    const fromEnvironment = yield* Config.option(Config.redacted("SVC_SERVER_SECRET"))
    // The agent's own secret is the one that its calls use; only a secret that was named replaces it.
    const secret = isUrl(options.agent) ? Option.orElse(options.secret, () => fromEnvironment) : options.secret
    return Option.match(secret, {
      onNone: () => target,
      onSome: (given): Target => ({
        ...target,
        hasSecret: true,
        agent: { ...target.agent, server_secret: Redacted.value(given) }
      })
    })
  })

/** Which voices and models there are. Without plugins every name is taken for one. */
const plugins = Effect.map(Providers, abilitiesOf).pipe(
  Effect.provide(commandPlugins({ required: ["textToSpeech"] })),
  Effect.map((abilities) => ({ abilities, problem: null })),
  Effect.catchTag("PluginError", (error) =>
    Effect.succeed({
      abilities: { speaks: () => true, voiceFor: (voice: string) => voice, models: "any" } as const,
      problem: error.message
    })
  )
)

const Arguments = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

const argumentsOf = (options: CheckOptions) =>
  Effect.gen(function* () {
    if (Option.isSome(options.tool) && options.allTools) return yield* refuse("give --tool or --all-tools, not both")
    if (Option.isNone(options.with)) return Option.none()
    if (Option.isNone(options.tool)) return yield* refuse("--with has the arguments of a tool: give --tool too")
    const given = Schema.decodeEither(Arguments)(options.with.value)
    if (Either.isLeft(given)) return yield* refuse('--with must be a JSON object, such as {"day":"Friday"}')
    return Option.some(given.right)
  })

type Arguments = typeof Arguments.Type

const CheckServices = AgentServerClient.layer.pipe(Layer.provide(UrlSafety.layer), Layer.provide(Resolver.layer))

const check = (
  options: CheckOptions,
  target: Target,
  given: Option.Option<Arguments>,
  report: (check: Check) => Effect.Effect<void>
) =>
  Effect.gen(function* () {
    const { agent, hasSecret, number } = target
    const { abilities, problem } = yield* plugins
    const call = yield* SampleCall.make({
      agent,
      from: options.from,
      to: Option.getOrElse(options.to, () => number),
      abilities
    })
    const started = yield* call.started()
    const first = startedCheck("call.started", started)
    const status = started.request?.status ?? 0
    const refused = first.failure !== null && status >= 400 && status < 500 && !hasSecret
    const notes = [
      ...(refused
        ? ["the request was not signed with the agent's server secret: give --secret, or the agent's id"]
        : []),
      ...(problem !== null && first.failure === null ? [`voices are not checked: ${problem}`] : [])
    ]
    yield* report({ ...first, warnings: [...first.warnings, ...notes.map((reason) => ({ field: null, reason }))] })
    if (started.input?._tag !== "ConfigAnswered" && started.input?._tag !== "MenuAnswered") {
      const why = "there was no usable answer to call.started"
      yield* report(skipped("signature", why))
      yield* report(skipped("timestamp", why))
      return
    }

    let config = started.input._tag === "ConfigAnswered" ? started.input.config : undefined
    if (started.input._tag === "MenuAnswered") {
      const gathered = { gathered_digit: options.digits.slice(0, 1), gathered_input: options.digits }
      const second = yield* call.started({ ...gathered, gather_status: "valid" })
      yield* report(startedCheck("menu", second))
      if (second.input?._tag === "ConfigAnswered") config = second.input.config
    }

    if (hasSecret) {
      yield* report(refusedCheck("signature", agent.server_url, yield* call.wronglySigned))
      yield* report(refusedCheck("timestamp", agent.server_url, yield* call.replayed))
    } else {
      const why = "no server secret was given: give --secret or SVC_SERVER_SECRET, or the agent's id"
      yield* report(skipped("signature", why))
      yield* report(skipped("timestamp", why))
    }

    const offered = config?.tools ?? []
    const wanted = Option.getOrUndefined(options.tool)
    const named = offered.filter(({ name }) => options.allTools || name === wanted)
    if (wanted !== undefined && named.length === 0) {
      yield* report(
        noTool(
          wanted,
          offered.map(({ name }) => name)
        )
      )
    }
    for (const tool of named) {
      const args = argumentsFor(tool, given, options.digits)
      yield* report(toolCheck(tool, args, yield* call.tool(tool, args)))
    }
    if (options.transcript) yield* report(transcriptCheck(yield* call.transcript, transcriptMs))
  }).pipe(Effect.provide(CheckServices))

/** A tool with `gather` also gets the digits, as in a call. */
const argumentsFor = (tool: CallTool, given: Option.Option<Arguments>, digits: string): Arguments => {
  const args = Option.getOrElse(given, () => sampleArguments(isRecord(tool.parameters) ? tool.parameters : {}))
  return tool.gather === undefined ? args : { ...args, gathered_input: digits, gather_status: "valid" }
}

/**
 * `svc agent check <agent>`: sends a sample call to the agent's server and reports what its answers lack. It writes
 * nothing: there is no call, event, charge or webhook.
 */
export const agentCheck = (options: CheckOptions) =>
  Effect.gen(function* () {
    const given = yield* argumentsOf(options)
    const target = yield* targetOf(options)
    const { agent } = target
    const server_url = publicPart(agent.server_url)
    const print = (line: string) => (options.json ? Effect.void : Console.log(line))
    const name = isUrl(options.agent) ? server_url : `${agent.name} (${agent.public_id}) at ${server_url}`
    yield* print(`Sample call to ${name}`)
    yield* print("")
    const checks: Array<Check> = []
    yield* check(options, target, given, (found) => {
      checks.push(found)
      return Effect.forEach(linesOf(found, options.dev), print, { discard: true })
    })
    const summary = summaryOf(checks, options.strict)
    if (options.json) {
      const agent_id = isUrl(options.agent) ? null : agent.public_id
      yield* Console.log(JSON.stringify({ ok: summary.ok, agent_id, server_url, checks }, null, 2))
    } else {
      yield* print("")
      yield* print(lineOf(summary))
    }
    if (!summary.ok) return yield* Effect.fail(new Reported())
  })
