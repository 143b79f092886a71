import { createHash, randomBytes } from "node:crypto"

/** Kinds of keys and the prefix of each (spec 2.3, 5.10): the prefix, then 48 hexadecimal characters. */
export const prefixes = {
  org: "svc_org_",
  project: "svc_live_",
  workspace: "svc_wsp_live_"
} as const
export type KeyKind = keyof typeof prefixes

const forms: { readonly [K in KeyKind]: RegExp } = {
  org: /^svc_org_[0-9a-fA-F]{48}$/,
  project: /^svc_live_[0-9a-fA-F]{48}$/,
  workspace: /^svc_wsp_live_[0-9a-fA-F]{48}$/
}

/** Whether a raw key has the form of its kind. */
export const isKey = (kind: KeyKind, raw: string): boolean => forms[kind].test(raw)

/** A new raw key from a cryptographic source. */
export const generateKey = (kind: KeyKind): string => prefixes[kind] + randomBytes(24).toString("hex")

/** SHA-256 of the raw key, hexadecimal: what is stored, and looked up by. */
export const hashKey = (raw: string): string => createHash("sha256").update(raw).digest("hex")

/** What is shown of a key after its creation. */
export const hintOf = (raw: string): string => `...${raw.slice(-8)}`
