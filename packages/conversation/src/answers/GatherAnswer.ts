import { languages } from "@svc/api/agents/Language"
import { preGatherFields, toolGatherFields } from "@svc/api/callbacks/CallStarted"
import { decodeValue, fieldReader, isRecord, type Warnings } from "./FieldReader.ts"
import type { GatherRules } from "./GatherRules.ts"
import type { Menu } from "./Menu.ts"

/**
 * The gathers in an answer to `call.started`. An invalid field is left out with a warning, and its default applies.
 */

/** Whether a voice is given by gender instead of by name. */
export const isGender = (voice: string): voice is "female" | "male" => voice === "female" || voice === "male"

const known: ReadonlyArray<string> = languages

const supported = (warnings: Warnings, field: string, language: string | null): string | null => {
  if (language === null || known.includes(language)) return language
  warnings.add(field, "language must be a supported BCP-47 code")
  return null
}

/** The menu of a first answer; null when it has none, or one without a valid prompt. */
export const menuOf = (answer: unknown, warnings: Warnings): Menu | null => {
  const given = isRecord(answer) ? answer["pre_gather"] : undefined
  if (given === undefined || given === null) return null
  if (!isRecord(given)) {
    warnings.add("pre_gather", "pre_gather must be an object")
    return null
  }
  const read = fieldReader(warnings, given, "pre_gather.")
  // An absent prompt is as invalid as an empty one.
  const prompt = decodeValue(warnings, "pre_gather.prompt", given["prompt"] ?? "", preGatherFields.prompt)
  if (prompt === null) return null
  return {
    rules: {
      prompt,
      voice: read("voice", preGatherFields.voice) ?? "female",
      language: supported(warnings, "pre_gather.language", read("language", preGatherFields.language)) ?? "en-US",
      max_digits: read("digits", preGatherFields.digits) ?? 1,
      terminator: read("terminator", preGatherFields.terminator) ?? "#",
      timeout_seconds: read("timeout", preGatherFields.timeout) ?? 8
    },
    max_retries: read("max_retries", preGatherFields.max_retries) ?? 2
  }
}

/**
 * The gather of a tool, or null. Without a prompt it starts silently; voice and language default to those of the call.
 */
export const toolGatherOf = (
  value: unknown,
  path: string,
  warnings: Warnings,
  callLanguage: string,
  speaks: (voice: string, language: string) => boolean
): GatherRules | null => {
  if (value === undefined || value === null) return null
  if (!isRecord(value)) {
    warnings.add(path, "gather must be an object")
    return null
  }
  const read = fieldReader(warnings, value, `${path}.`)
  const language = supported(warnings, `${path}.language`, read("language", toolGatherFields.language))
  const wanted = read("voice", toolGatherFields.voice)
  const fits = wanted === null || isGender(wanted) || speaks(wanted, language ?? callLanguage)
  if (!fits) warnings.add(`${path}.voice`, "voice not available for the selected language")
  return {
    prompt: read("prompt", toolGatherFields.prompt) ?? "",
    voice: fits ? wanted : null,
    language,
    max_digits: read("max_digits", toolGatherFields.max_digits) ?? 10,
    terminator: read("terminator", toolGatherFields.terminator) ?? "#",
    timeout_seconds: read("timeout_seconds", toolGatherFields.timeout_seconds) ?? 15
  }
}
