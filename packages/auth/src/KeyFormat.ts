import { createHash, randomBytes } from "node:crypto"

/** Prefix of each kind of key. 48 hexadecimal characters follow it. */
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

/** SHA-256 of the raw key, hexadecimal: the stored form, by which keys are found. */
export const hashKey = (raw: string): string => createHash("sha256").update(raw).digest("hex")
