import { SenderName, SmsText } from "@svc/api/sms/SmsLimits"
import { E164 } from "@svc/api/Wire"
import type { ModelTool } from "@svc/providers/LanguageModel"
import { Either, ParseResult, Schema } from "effect"
import type { CallConfig } from "./CallConfig.ts"

/** The definitions, for the model, of tools that the platform runs itself. */

const dispositions = [
  "resolved",
  "customer_satisfied",
  "no_further_questions",
  "customer_requested",
  "wrong_number",
  "spam",
  "abusive"
] as const
const Disposition = Schema.Literal(...dispositions)
const isDisposition = Schema.is(Disposition)

export const endCall = "end_call"
export const sendSms = "svc_send_sms"
export const pressKeys = "press_keys"
export const switchLanguage = "switch_language"

const endCallTool: ModelTool = {
  name: endCall,
  description: "Ends the phone call. Say goodbye first.",
  parameters: {
    type: "object",
    properties: { disposition: { type: "string", enum: dispositions } },
    required: ["disposition"]
  }
}

const sendSmsTool: ModelTool = {
  name: sendSms,
  description: "Sends a text message (SMS). Read the number back to the caller before you use one that was spoken.",
  parameters: {
    type: "object",
    properties: {
      to: { type: "string", description: "The receiver's number in E.164, such as +31612345678" },
      message: { type: "string", maxLength: 160, description: "At most 160 characters" },
      sender_name: {
        type: "string",
        maxLength: 11,
        description: "Shown in place of the number; in the European Union, the United Kingdom and Australia only"
      }
    },
    required: ["to", "message"]
  }
}

const pressKeysTool: ModelTool = {
  name: pressKeys,
  description: "Presses keys of the telephone, as for a menu at the other end. Say nothing while you press.",
  parameters: {
    type: "object",
    properties: {
      digits: { type: "string", pattern: "^[0-9*#w]{1,32}$", description: "0-9, * and #; w waits for half a second" }
    },
    required: ["digits"]
  }
}

const switchLanguageTool = (languages: CallConfig["languages"]): ModelTool => ({
  name: switchLanguage,
  description: "Changes the language that you hear and speak, from your next words on.",
  parameters: {
    type: "object",
    properties: { language: { type: "string", enum: languages.map(({ language }) => language) } },
    required: ["language"]
  }
})

/** The platform tools of a call. */
export const platformToolsOf = ({
  end_call,
  languages,
  platform_tools,
  send_sms
}: CallConfig): ReadonlyArray<ModelTool> => [
  ...(end_call ? [endCallTool] : []),
  ...(send_sms === null ? [] : [sendSmsTool]),
  ...(platform_tools.includes(pressKeys) ? [pressKeysTool] : []),
  ...(platform_tools.includes(switchLanguage) ? [switchLanguageTool(languages)] : [])
]

/** The disposition with which the model ended the call; an unknown one counts as `resolved`. */
export const dispositionOf = (args: { readonly [name: string]: unknown }): typeof Disposition.Type => {
  const { disposition } = args
  return isDisposition(disposition) ? disposition : "resolved"
}

const Sms = Schema.Struct({
  to: E164.annotations({ message: () => ({ message: "to must be a valid E.164 phone number", override: true }) }),
  message: SmsText,
  sender_name: Schema.optional(Schema.NullOr(SenderName))
})

/** The text message in the arguments of the model, or an error for the model. */
export const smsOf = (args: {
  readonly [name: string]: unknown
}): Either.Either<{ readonly to: string; readonly message: string; readonly sender_name: string | null }, string> =>
  Either.mapBoth(Schema.decodeUnknownEither(Sms)(args), {
    onLeft: (error) => {
      const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
      return issue?._tag === "Missing" ? `${issue.path.join(".")} is required.` : (issue?.message ?? "not valid")
    },
    onRight: ({ message, sender_name, to }) => ({ to, message, sender_name: sender_name?.trim() || null })
  })
