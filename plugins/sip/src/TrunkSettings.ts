import { Schema } from "effect"
import { paramOf } from "./message/Syntax.ts"
import * as Uri from "./message/Uri.ts"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** The trunk: `sip:host`, with a port and `;transport=tcp`, `udp` or `tls` as wanted; or `sips:host`, which is TLS. */
export const trunkOf = (value: string): Uri.SipUri | undefined => {
  const uri = Uri.parse(value.trim())
  if (uri?._tag !== "Sip" || uri.user !== undefined || uri.headers.length > 0) return undefined
  const named = paramOf(uri.params, "transport")?.toLowerCase()
  const possible = uri.scheme === "sips" ? ["tls", "tcp", undefined] : ["udp", "tcp", "tls", undefined]
  return possible.includes(named) ? uri : undefined
}

/** Numbers of a trunk: `+4930123`, or with a prefix `+4930*`. `+` and separators are ignored. */
export const numbersOf = (value: string): ReadonlyArray<string> =>
  value.split(",").flatMap((part) => (part.trim() === "" ? [] : [part.replace(/[-+.() ]/g, "")]))

const uri = Schema.String.pipe(
  Schema.filter((value) => trunkOf(value) !== undefined, {
    message: () => "must be sip:host:port, with ;transport=tcp or tls where it is wanted, or sips:host"
  })
)

const numbers = Schema.String.pipe(
  Schema.filter((value) => numbersOf(value).length > 0 && numbersOf(value).every((each) => /^\d*\*?$/.test(each)), {
    message: () => "must be numbers or beginnings of numbers, such as +493012345,+4940*"
  })
)

/** As other settings that are on or off: `true`, `yes`, `on`, `1`, and `false`, `no`, `off`, `0`. */
const flag = Schema.transform(
  Schema.Literal("true", "yes", "on", "1", "false", "no", "off", "0").annotations({
    message: () => "must be true or false"
  }),
  Schema.Boolean,
  {
    strict: true,
    decode: (text) => text === "true" || text === "yes" || text === "on" || text === "1",
    encode: (isOn) => (isOn ? "true" : "false")
  }
)

/** The settings of the first trunk: `SVC_SIP_TRUNK_URI` and so on, and `SVC_SIP_REGISTER`. */
export const firstTrunk = {
  trunkUri: optional(uri),
  trunkUsername: optional(Schema.NonEmptyString),
  trunkPassword: optional(Schema.Redacted(Schema.NonEmptyString)),
  trunkNumbers: optional(numbers),
  register: optional(flag)
}

const field = {
  Uri: firstTrunk.trunkUri,
  Username: firstTrunk.trunkUsername,
  Password: firstTrunk.trunkPassword,
  Numbers: firstTrunk.trunkNumbers,
  Register: firstTrunk.register
}

const indexes = ["2", "3", "4", "5", "6", "7", "8", "9"] as const

type Index = (typeof indexes)[number]

type Fields = { readonly [I in Index as `trunk${I}Uri`]: typeof field.Uri } & {
  readonly [I in Index as `trunk${I}Username`]: typeof field.Username
} & { readonly [I in Index as `trunk${I}Password`]: typeof field.Password } & {
  readonly [I in Index as `trunk${I}Numbers`]: typeof field.Numbers
} & { readonly [I in Index as `trunk${I}Register`]: typeof field.Register }

/** The settings of further trunks: `SVC_SIP_TRUNK2_URI`, `SVC_SIP_TRUNK2_REGISTER` and so on. */
export const furtherTrunks = Object.fromEntries(
  indexes.flatMap((index) => Object.entries(field).map(([name, schema]) => [`trunk${index}${name}`, schema]))
  // The names are those of the type; the compiler cannot compute them.
) as unknown as Fields

/** Settings of trunks, decoded. */
export type TrunkSettings = Schema.Struct.Type<typeof firstTrunk & Fields>

/** What one trunk was configured with. */
export interface ConfiguredTrunk {
  /** What its variables begin with: `SVC_SIP_TRUNK`. */
  readonly variable: string
  /** The variable that makes it register. */
  readonly registerVariable: string
  readonly uri: string | undefined
  readonly username: string | undefined
  readonly password: Schema.Schema.Type<Schema.Redacted<typeof Schema.String>> | undefined
  readonly numbers: ReadonlyArray<string>
  readonly register: boolean
}

/** The trunks of which something is set, in the order of their numbers. */
export const configuredTrunks = (settings: TrunkSettings): ReadonlyArray<ConfiguredTrunk> => {
  const first: ConfiguredTrunk = {
    variable: "SVC_SIP_TRUNK",
    registerVariable: "SVC_SIP_REGISTER",
    uri: settings.trunkUri,
    username: settings.trunkUsername,
    password: settings.trunkPassword,
    numbers: numbersOf(settings.trunkNumbers ?? ""),
    register: settings.register ?? false
  }
  const further = indexes.map(
    (index): ConfiguredTrunk => ({
      variable: `SVC_SIP_TRUNK${index}`,
      registerVariable: `SVC_SIP_TRUNK${index}_REGISTER`,
      uri: settings[`trunk${index}Uri`],
      username: settings[`trunk${index}Username`],
      password: settings[`trunk${index}Password`],
      numbers: numbersOf(settings[`trunk${index}Numbers`] ?? ""),
      register: settings[`trunk${index}Register`] ?? false
    })
  )
  return [first, ...further].filter(
    ({ numbers: owned, password, register, uri: at, username }) =>
      at !== undefined || username !== undefined || password !== undefined || owned.length > 0 || register
  )
}
