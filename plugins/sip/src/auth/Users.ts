import type { ServerAlgorithm } from "./DigestServer.ts"
import type { Registrar } from "./Registrar.ts"

/** The phones that may call and register with a password. */
export interface Users {
  readonly passwords: ReadonlyMap<string, string>
  /** The users whose phones have a number of their own (E.164), by the numbers. */
  readonly numbers: ReadonlyMap<string, string>
  readonly algorithms: ReadonlyArray<ServerAlgorithm>
  readonly registrar: Registrar
}

/** `SHA-256,MD5`. Without it MD5 alone: many phones give up when another algorithm is named as well. */
export const algorithmsOf = (value: "MD5" | "SHA-256" | "SHA-256,MD5" = "MD5"): ReadonlyArray<ServerAlgorithm> =>
  value === "SHA-256,MD5" ? ["SHA-256", "MD5"] : [value]

/**
 * Names and passwords of phones, and numbers that reach them, as `SVC_SIP_USERS` has them:
 * `anna:secret:+4930123456,door:other`. Undefined: it is malformed.
 */
export const usersOf = (value: string): Pick<Users, "passwords" | "numbers"> | undefined => {
  const passwords = new Map<string, string>()
  const numbers = new Map<string, string>()
  for (const part of value.split(",")) {
    const entry = part.trim()
    if (entry === "") continue
    const [, name, password, number] = /^([A-Za-z0-9._+-]{1,64}):(.+?)(?::(\+[1-9]\d{6,14}))?$/s.exec(entry) ?? []
    if (name === undefined || password === undefined || passwords.has(name)) return undefined
    // A number that is not E.164 would be a part of the password, and nobody could tell why the phone is refused.
    if (password.startsWith(":") || /:[+\d\s().-]*$/.test(password)) return undefined
    if (number !== undefined && numbers.has(number)) return undefined
    passwords.set(name, password)
    if (number !== undefined) numbers.set(number, name)
  }
  return passwords.size === 0 ? undefined : { passwords, numbers }
}
