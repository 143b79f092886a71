import { Schema } from "effect"
import { isLongerThan } from "./Wire.ts"

/** Rules for single values in bodies, such as names, postal addresses and countries. Texts are trimmed. */

/** The violation of the rules for all texts, or undefined. */
const violationOf = (field: string, max: number, text: string): string | undefined => {
  if (isLongerThan(max, text)) return `${field} must not exceed ${max} characters`
  return text.includes("\u0000") ? `${field} must not contain NUL characters` : undefined
}

export interface TextRule {
  /** The maximum number of characters. */
  readonly max: number
  /** Another violation, or undefined. */
  readonly check?: (text: string) => string | undefined
  readonly jsonSchema?: {
    readonly format?: string
    readonly pattern?: string
    readonly description?: string
    readonly examples?: ReadonlyArray<string>
  }
}

/** A required text. */
export const requiredText = (field: string, { check, jsonSchema, max }: TextRule) =>
  Schema.Trim.pipe(
    Schema.filter((text) => violationOf(field, max, text) ?? check?.(text), {
      jsonSchema: { type: "string", maxLength: max, ...jsonSchema }
    })
  )

/** A text that may be empty, which is null. */
export const optionalText = (field: string, { check, jsonSchema, max }: TextRule) =>
  Schema.transform(Schema.NullOr(Schema.String), Schema.NullOr(Schema.String), {
    strict: true,
    decode: (text) => text?.trim() || null,
    encode: (text) => text
  }).pipe(
    Schema.filter((text) => (text === null ? undefined : (violationOf(field, max, text) ?? check?.(text)))),
    Schema.annotations({ jsonSchema: { type: ["string", "null"], maxLength: max, ...jsonSchema } })
  )

const email =
  /^[^\s@"(),:;<>[\\\]]{1,64}@(?=[^@]{1,253}$)[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?(?:\.[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?)+$/u

export const isEmail = (text: string): boolean => email.test(text) && !/^\.|\.\.|\.@/.test(text)

const countries = new Set(
  (
    "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ " +
    "CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO " +
    "FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE " +
    "JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO " +
    "MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW " +
    "PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM " +
    "TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW"
  ).split(" ")
)

/** ISO 3166-1 alpha-2, in upper case whatever case it came in. */
export const Country = Schema.transform(Schema.String, Schema.String, {
  strict: true,
  decode: (text) => text.trim().toUpperCase(),
  encode: (text) => text
}).pipe(
  Schema.filter((text) => {
    if (countries.has(text)) return true
    const isCode = /^[A-Z]{2}$/.test(text)
    return `country must be a two-letter country code (ISO 3166-1 alpha-2)${isCode ? `: ${text} is not one of them` : ""}`
  }),
  Schema.annotations({ jsonSchema: { type: "string", minLength: 2, maxLength: 2, examples: ["NL"] } })
)
