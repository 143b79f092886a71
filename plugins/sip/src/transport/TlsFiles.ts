import { createPrivateKey, X509Certificate } from "node:crypto"
import { readFileSync, statSync } from "node:fs"
import * as tls from "node:tls"
import { Data, Effect, Either } from "effect"

/** A file of the settings cannot be used. `setting` and `reason` are for the operator. */
export class TlsFileFailed extends Data.TaggedError("TlsFileFailed")<{
  readonly setting: string
  readonly reason: string
}> {}

/** The files of the settings, in PEM. */
export interface TlsFiles {
  /** The server's certificate, with the intermediate ones after it, and its key. Absent: connections are only made. */
  readonly own?: { readonly certificate: string; readonly key: string }
  /** Certificates of further authorities. */
  readonly authorities?: string
}

/** What the files held. */
export interface TlsIdentity {
  /** For connections that are accepted; undefined: none are. */
  readonly server: { readonly cert: string; readonly key: string } | undefined
  /** For connections that are made, with the certificate where there is one. */
  readonly client: tls.SecureContext
  /** What is wrong with the certificate and does not keep it from being used. */
  readonly warning: string | undefined
}

const certificateSetting = "SVC_SIP_TLS_CERT"
const keySetting = "SVC_SIP_TLS_KEY"
const authoritiesSetting = "SVC_SIP_TLS_CA"

const reasonOf = (cause: unknown): string =>
  cause instanceof Error ? ("code" in cause ? String(cause.code) : cause.message) : String(cause)

const read = (setting: string, path: string): Either.Either<string, TlsFileFailed> =>
  Either.try({
    try: () => readFileSync(path, "utf8"),
    catch: (cause) => new TlsFileFailed({ setting, reason: `cannot read ${path} (${reasonOf(cause)})` })
  })

const blocks = (pem: string): ReadonlyArray<string> =>
  pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? []

/** The first certificate of a PEM file, all of which can be read. */
const certificateOf = (setting: string, path: string, pem: string): Either.Either<X509Certificate, TlsFileFailed> =>
  Either.try({
    try: () => blocks(pem).map((block) => new X509Certificate(block)),
    catch: () => new TlsFileFailed({ setting, reason: `${path} has a damaged certificate` })
  }).pipe(
    Either.flatMap(([first]) =>
      first === undefined
        ? Either.left(
            new TlsFileFailed({ setting, reason: `${path} has no certificate in PEM (-----BEGIN CERTIFICATE-----)` })
          )
        : Either.right(first)
    )
  )

/** What makes peers refuse the certificate at this time, in ms since 1970. */
const warningOf = ({ validFrom, validTo }: X509Certificate, now: number): string | undefined => {
  if (Date.parse(validTo) <= now) return `${certificateSetting}: the certificate has expired on ${validTo}; renew it`
  return Date.parse(validFrom) > now
    ? `${certificateSetting}: the certificate is valid only from ${validFrom}`
    : undefined
}

const identityOf = (files: TlsFiles, now: number): Either.Either<TlsIdentity, TlsFileFailed> =>
  Either.gen(function* () {
    const authorities = files.authorities === undefined ? undefined : yield* read(authoritiesSetting, files.authorities)
    if (files.authorities !== undefined && authorities !== undefined) {
      yield* certificateOf(authoritiesSetting, files.authorities, authorities)
    }
    // `ca` replaces the authorities that Node comes with.
    const ca = authorities === undefined ? {} : { ca: [...tls.rootCertificates, ...blocks(authorities)] }
    if (files.own === undefined) {
      return { server: undefined, client: tls.createSecureContext({ ...ca }), warning: undefined }
    }
    const { certificate: certificatePath, key: keyPath } = files.own
    const cert = yield* read(certificateSetting, certificatePath)
    const leaf = yield* certificateOf(certificateSetting, certificatePath, cert)
    const key = yield* read(keySetting, keyPath)
    const parsed = yield* Either.try({
      try: () => createPrivateKey(key),
      catch: () =>
        new TlsFileFailed({ setting: keySetting, reason: `${keyPath} has no private key in PEM without a password` })
    })
    if (!leaf.checkPrivateKey(parsed)) {
      const reason = `${keyPath} is not the key of the certificate in ${certificatePath} (${certificateSetting})`
      return yield* Either.left(new TlsFileFailed({ setting: keySetting, reason }))
    }
    const client = yield* Either.try({
      try: () => tls.createSecureContext({ cert, key, ...ca }),
      catch: (cause) => new TlsFileFailed({ setting: certificateSetting, reason: reasonOf(cause) })
    })
    return { server: { cert, key }, client, warning: warningOf(leaf, now) }
  })

/** Changes when a file is replaced or written. */
const stampOf = ({ authorities, own }: TlsFiles): string =>
  [own?.certificate, own?.key, authorities]
    .map((path) => {
      const found = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false })
      return found === undefined ? "" : `${found.ino} ${found.size} ${found.mtimeMs}`
    })
    .join("\n")

/**
 * Reads the files. The function that it returns gives what they hold now: it reads them again when they have changed, and
 * keeps what was read before while they cannot be used, as when only one of certificate and key was replaced yet.
 */
export const open = (
  files: TlsFiles,
  warn: (message: string) => void
): Effect.Effect<() => TlsIdentity, TlsFileFailed> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const load = (): Either.Either<TlsIdentity, TlsFileFailed> => identityOf(files, clock.unsafeCurrentTimeMillis())
    let stamp = stampOf(files)
    let identity = yield* load()
    if (identity.warning !== undefined) warn(identity.warning)
    return () => {
      const found = stampOf(files)
      if (found === stamp) return identity
      stamp = found
      const read = load()
      if (Either.isLeft(read)) warn(`${read.left.setting}: ${read.left.reason}; what was read before is used`)
      else identity = read.right
      if (Either.isRight(read) && identity.warning !== undefined) warn(identity.warning)
      return identity
    }
  })
