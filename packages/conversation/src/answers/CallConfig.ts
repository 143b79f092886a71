import { languages } from "@svc/api/agents/Language"
import { callStartedFields, defaultToolSeconds, TimeoutSeconds, ToolDefinition } from "@svc/api/callbacks/CallStarted"
import { Either, Schema } from "effect"
import { type Abilities, callSettings, settingsOf } from "./CallSettings.ts"
import { ExtractionSchema, extractionOf } from "./ExtractionAnswer.ts"
import {
  decodeValue,
  fieldNames,
  fieldReader,
  inWords,
  isRecord,
  Warnings,
  warningFields,
  withoutUnusableKeys
} from "./FieldReader.ts"
import { toolGatherOf } from "./GatherAnswer.ts"
import { GatherRules } from "./GatherRules.ts"
import { answeredMetadataProblem } from "./MetadataLimits.ts"
import { PostCallSms, postCallSmsOf } from "./PostCallSms.ts"
import { destinationsOf } from "./TransferAnswer.ts"

/** The agent's settings, which apply where its server's answer has no value. */
export const AgentDefaults = Schema.Struct({
  language: Schema.String,
  voice: Schema.String,
  /** Seconds. */
  max_duration: Schema.Number,
  end_call_enabled: Schema.Boolean
})
export type AgentDefaults = typeof AgentDefaults.Type

/** A custom tool of a call; with `gather` it collects digits before its tool.call request. */
export const CallTool = Schema.extend(
  Schema.typeSchema(ToolDefinition),
  Schema.Struct({ gather: Schema.optionalWith(GatherRules, { exact: true }) })
)
export type CallTool = typeof CallTool.Type

/** A field that is absent in journals of earlier versions. */
const added = <A, I>(schema: Schema.Schema<A, I>, otherwise: () => NoInfer<A>) =>
  Schema.optionalWith(schema, { exact: true, default: otherwise })
const none = () => null

/** The configuration of one call: the `call.started` answer over the agent's defaults, with every value resolved. */
export const CallConfig = Schema.Struct({
  system_prompt: Schema.String,
  first_message: Schema.NullOr(Schema.String),
  end_session_message: Schema.NullOr(Schema.String),
  /** Spoken to the voicemail of an outbound call. Absent in journals of earlier versions. */
  voicemail_message: Schema.optionalWith(Schema.NullOr(Schema.String), { exact: true }),
  language: Schema.String,
  voice: Schema.String,
  /** Seconds. */
  max_duration: Schema.Number,
  /** Seconds, or null: no limit. */
  inactivity_timeout: Schema.NullOr(Schema.Number),
  /** Null: the agent's setting applies. */
  recording_enabled: added(Schema.NullOr(Schema.Boolean), none),
  stt_format: added(callStartedFields.stt_format, () => "smart" as const),
  stt_keyterms: added(Schema.Array(Schema.String), () => []),
  /** `auto`, or the text to say. */
  speak_during_tool_call: added(Schema.NullOr(Schema.String), none),
  /** Custom tools, run by the agent's server. */
  tools: Schema.Array(CallTool),
  end_call: Schema.Boolean,
  /** `svc_send_sms`, when the model may use it. */
  send_sms: added(Schema.NullOr(Schema.Struct({ timeout_seconds: Schema.Number })), none),
  /** What is extracted from the call after it has ended. */
  extraction: added(Schema.NullOr(ExtractionSchema), none),
  post_call_sms: added(Schema.NullOr(PostCallSms), none),
  /** Label → E.164: where the model may transfer the caller to. Absent in journals of earlier versions. */
  transfer_destinations: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.String }), {
    exact: true
  }),
  /** Said to the destination of a transfer, with unreplaced variables; absent: nothing. */
  transfer_announcement: Schema.optionalWith(Schema.String, { exact: true }),
  dtmf_actions: Schema.Record({ key: Schema.String, value: Schema.String }),
  metadata: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  ...callSettings,
  ...warningFields
})
export type CallConfig = typeof CallConfig.Type

/** Names of the tools that the platform runs itself: listed in `tools` to enable them, never sent to the server. */
export const platformTools: ReadonlySet<string> = new Set([
  "end_call",
  "svc_send_sms",
  "svc_voicemail_reached",
  "transfer_call"
])

/** The time limit of a platform tool in seconds: from its entry in `tools`, else the default of all tools. */
const platformSeconds = (warnings: Warnings, path: string, item: Readonly<Record<string, unknown>>): number => {
  const wanted = fieldReader(warnings, item, `${path}.`)("timeout_seconds", TimeoutSeconds)
  return wanted ?? defaultToolSeconds
}

/** Why an answer cannot be used; the call is hung up. */
export interface Unusable {
  readonly reason: string
}

/**
 * Reads the answer to `call.started`. Only a missing `system_prompt` makes it unusable; any other invalid field is left
 * out with a warning. `warnings`: those about the answer so far.
 */
export const resolve = (
  body: unknown,
  agent: AgentDefaults,
  abilities: Abilities,
  warnings = new Warnings()
): Either.Either<CallConfig, Unusable> => {
  const { speaks } = abilities
  const answer = withoutUnusableKeys(warnings, body)
  if (!isRecord(answer))
    return Either.left({ reason: `the answer to call.started must be a JSON object (it is ${inWords(answer)})` })
  const read = fieldReader(warnings, answer)

  const prompt = read("system_prompt", callStartedFields.system_prompt)
  if (prompt === null) {
    const wrong = warnings.fields.warnings.find(({ field }) => field === "system_prompt")
    const menu = warnings.fields.warnings.find(({ field }) => /^pre_gather\b/.test(field))
    const why =
      menu === undefined ? fieldNames(answer) : `${menu.field} cannot be used: ${menu.reason.replace(/\.$/, "")}`
    return Either.left({
      reason:
        wrong === undefined
          ? `the answer to call.started has no system_prompt (${why})`
          : `system_prompt in the answer to call.started ${wrong.reason}`
    })
  }
  const append = read("system_prompt_append", callStartedFields.system_prompt_append)

  const wantedLanguage = read("language", callStartedFields.language)
  const known: ReadonlyArray<string> = languages
  const language =
    wantedLanguage === null || known.includes(wantedLanguage)
      ? (wantedLanguage ?? agent.language)
      : (warnings.add("language", "language must be a supported BCP-47 code") ?? agent.language)

  const wantedVoice = read("voice", callStartedFields.voice)
  const voice =
    wantedVoice === null || speaks(wantedVoice, language)
      ? (wantedVoice ?? agent.voice)
      : (warnings.add("voice", "voice not available for the selected language") ?? agent.voice)

  const wantedDuration = read("max_duration", callStartedFields.max_duration)
  const max_duration = wantedDuration === null ? agent.max_duration : Math.min(7200, Math.max(60, wantedDuration))

  const settings = settingsOf(answer, abilities, voice, warnings)

  const tools = new Map<string, CallTool>()
  let end_call = agent.end_call_enabled
  let send_sms: CallConfig["send_sms"] = null
  const entries = read("tools", callStartedFields.tools) ?? []
  for (const [index, item] of entries.entries()) {
    const given = isRecord(item) ? item : {}
    const name = given["name"]
    if (name === "end_call") end_call = true
    else if (name === "svc_send_sms") send_sms = { timeout_seconds: platformSeconds(warnings, `tools.${index}`, given) }
    else if (typeof name === "string" && platformTools.has(name))
      warnings.add(`tools.${index}`, `the platform tool ${name} is not available`)
    else {
      const tool = isRecord(item)
        ? decodeValue(warnings, `tools.${index}`, item, ToolDefinition)
        : warnings.add(`tools.${index}`, "a tool must be an object")
      if (tool === null) continue
      if (settings.platform_tools.some((one) => one === tool.name)) {
        warnings.add(`tools.${index}`, `platform_tools has a tool with the name ${tool.name}`)
        continue
      }
      if (tools.has(tool.name)) {
        warnings.add(`tools.${index}`, `the tool ${tool.name} is defined twice`)
        continue
      }
      const gather = toolGatherOf(given["gather"], `tools.${index}.gather`, warnings, language, speaks)
      tools.set(tool.name, gather === null ? tool : { ...tool, gather })
    }
  }

  const wantedMetadata = read("metadata", callStartedFields.metadata) ?? {}
  const problem = answeredMetadataProblem(wantedMetadata)
  const metadata = problem === null ? wantedMetadata : (warnings.add("metadata", problem) ?? {})

  const transfer_announcement = read("transfer_announcement", callStartedFields.transfer_announcement)?.trim() || null

  return Either.right({
    system_prompt: append === null ? prompt : `${prompt}\n\n${append}`,
    first_message: read("first_message", callStartedFields.first_message) || null,
    end_session_message: read("end_session_message", callStartedFields.end_session_message) || null,
    voicemail_message: read("voicemail_message", callStartedFields.voicemail_message) || null,
    language,
    voice,
    max_duration,
    inactivity_timeout: read("inactivity_timeout", callStartedFields.inactivity_timeout),
    recording_enabled: read("recording_enabled", callStartedFields.recording_enabled),
    stt_format: read("stt_format", callStartedFields.stt_format) ?? "smart",
    stt_keyterms: (read("stt_keyterms", callStartedFields.stt_keyterms) ?? []).filter((term) => term.trim() !== ""),
    speak_during_tool_call: read("speak_during_tool_call", callStartedFields.speak_during_tool_call)?.trim() || null,
    tools: [...tools.values()],
    end_call,
    send_sms,
    extraction: extractionOf(read("extraction_schema", callStartedFields.extraction_schema), warnings),
    post_call_sms: postCallSmsOf(answer, warnings),
    transfer_destinations: destinationsOf(answer["transfer_destinations"], warnings),
    ...(transfer_announcement === null ? {} : { transfer_announcement }),
    dtmf_actions: read("dtmf_actions", callStartedFields.dtmf_actions) ?? {},
    metadata,
    ...settings,
    ...warnings.fields
  })
}
