import type { ServerAlgorithm } from "./DigestServer.ts"
import type { Registrar } from "./Registrar.ts"

/** The phones that may call and register with a password. */
export interface Users {
  readonly passwords: ReadonlyMap<string, string>
  readonly algorithms: ReadonlyArray<ServerAlgorithm>
  readonly registrar: Registrar
}

/** `SHA-256,MD5`. Without it MD5 alone: many phones give up when another algorithm is named as well. */
export const algorithmsOf = (value: "MD5" | "SHA-256" | "SHA-256,MD5" = "MD5"): ReadonlyArray<ServerAlgorithm> =>
  value === "SHA-256,MD5" ? ["SHA-256", "MD5"] : [value]

/** Names and passwords of phones, as `SVC_SIP_USERS` has them: `anna:secret,door:other`. Undefined: it is malformed. */
export const usersOf = (value: string): ReadonlyMap<string, string> | undefined => {
  const users = new Map<string, string>()
  for (const part of value.split(",")) {
    const entry = part.trim()
    if (entry === "") continue
    const colon = entry.indexOf(":")
    const [name, password] = [entry.slice(0, Math.max(colon, 0)), entry.slice(colon + 1)]
    if (!/^[A-Za-z0-9._+-]{1,64}$/.test(name) || password === "" || users.has(name)) return undefined
    users.set(name, password)
  }
  return users.size === 0 ? undefined : users
}
