import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"
import { Config, ConfigError, Context, Data, Effect, Either, Layer, Option, Redacted } from "effect"

/** A stored secret cannot be decrypted; the message says which key is missing. */
export class SecretUnreadable extends Data.TaggedError("SecretUnreadable")<{ readonly message: string }> {}

/** A secret's row and column, as `webhooks.secret:12`: a ciphertext that is copied to another row does not decrypt. */
export type SecretPlace = `${"webhooks.secret" | "agents.server_secret" | "signing_secrets.secret"}:${string | number}`

/** A key of AES-256-GCM. The id is not secret: it is stored with each value. */
interface Key {
  readonly id: string
  readonly bytes: Buffer
}

const prefix = "enc:v1:"
const [nonceLength, tagLength] = [12, 16]
/** Secrets decrypted at most once while this many others were not; a webhook's is needed for every delivery. */
const cacheSize = 20_000

/** Encrypts and decrypts secrets of the database. Synchronous, and a secret is decrypted only once. */
export interface SecretBox {
  /** The id of the key that encrypts; undefined: secrets are stored as they are. */
  readonly currentKey: string | undefined
  /** Whether it can decrypt what the key with this id encrypted. */
  readonly hasKey: (id: string) => boolean
  /** The text to store: `enc:v1:<key id>:<base64url of nonce, ciphertext and tag>`. */
  readonly seal: (secret: string, place: SecretPlace) => string
  /** The secret in a stored text, encrypted or not. */
  readonly open: (stored: string, place: SecretPlace) => Either.Either<string, SecretUnreadable>
}

/** The id of the key with which a text was encrypted; undefined: it is not encrypted. */
export const keyIdOf = (stored: string): string | undefined =>
  stored.startsWith(prefix) ? stored.slice(prefix.length).split(":")[0] : undefined

/** What to do about a key that this server does not have. */
export const missingKey = (id: string): string =>
  `encrypted with the key ${id}, which is neither SVC_SECRET_KEY nor in SVC_SECRET_KEY_PREVIOUS: add that key to one of them`

const unreadable = (place: SecretPlace, reason: string) =>
  Either.left(new SecretUnreadable({ message: `${place} cannot be decrypted: ${reason}` }))

/** A box that encrypts with the first key and decrypts with any. */
const makeBox = (current: Key | undefined, previous: ReadonlyArray<Key>): SecretBox => {
  const keys = new Map([...previous, ...(current === undefined ? [] : [current])].map((key) => [key.id, key.bytes]))
  const opened = new Map<string, Either.Either<string, SecretUnreadable>>()

  const decrypt = (stored: string, place: SecretPlace): Either.Either<string, SecretUnreadable> => {
    const [id = "", text = ""] = stored.slice(prefix.length).split(":")
    const key = keys.get(id)
    if (key === undefined) return unreadable(place, missingKey(id))
    const sealed = Buffer.from(text, "base64url")
    if (sealed.length < nonceLength + tagLength) return unreadable(place, "the stored text is cut off")
    const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, nonceLength))
    decipher.setAAD(Buffer.from(place)).setAuthTag(sealed.subarray(-tagLength))
    return Either.try({
      try: () => decipher.update(sealed.subarray(nonceLength, -tagLength), undefined, "utf8") + decipher.final("utf8"),
      catch: () =>
        new SecretUnreadable({
          message: `${place} cannot be decrypted: its text was altered or copied from another row; rotate the secret`
        })
    })
  }

  return {
    currentKey: current?.id,
    hasKey: (id) => keys.has(id),
    seal: (secret, place) => {
      if (current === undefined) return secret
      const nonce = randomBytes(nonceLength)
      const cipher = createCipheriv("aes-256-gcm", current.bytes, nonce).setAAD(Buffer.from(place))
      const sealed = Buffer.concat([nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()])
      return `${prefix}${current.id}:${sealed.toString("base64url")}`
    },
    open: (stored, place) => {
      if (!stored.startsWith(prefix)) return Either.right(stored)
      const name = `${place} ${stored}`
      const known = opened.get(name)
      if (known !== undefined) return known
      const secret = decrypt(stored, place)
      if (opened.size >= cacheSize) opened.clear()
      opened.set(name, secret)
      return secret
    }
  }
}

const Key = (name: string, text: string): Either.Either<Key, ConfigError.ConfigError> => {
  const bytes = /^[0-9a-f]{64}$/i.test(text)
    ? Buffer.from(text, "hex")
    : /^[A-Za-z0-9+/_-]{43}=?$/.test(text)
      ? Buffer.from(text, "base64")
      : Buffer.alloc(0)
  if (bytes.length !== 32) {
    return Either.left(
      ConfigError.InvalidData(
        [name],
        "must be 32 bytes in base64 (44 characters) or hexadecimal (64); make one with `openssl rand -base64 32`"
      )
    )
  }
  return Either.right({ id: createHash("sha256").update(bytes).digest("hex").slice(0, 8), bytes })
}

const keysIn = (name: string): Config.Config<ReadonlyArray<Key>> =>
  Config.redacted(name).pipe(
    Config.option,
    Config.mapOrFail((text) =>
      Either.all(
        Option.match(text, { onNone: () => [], onSome: (given) => Redacted.value(given).split(",") })
          .map((one) => one.trim())
          .filter((one) => one !== "")
          .map((one) => Key(name, one))
      )
    )
  )

/**
 * Signing secrets at rest: encrypted with `SVC_SECRET_KEY` when it is set; `SVC_SECRET_KEY_PREVIOUS` has keys, separated
 * by commas, that only decrypt. Without a layer nothing is encrypted. See docs/reference/administration.md.
 */
export class StoredSecrets extends Context.Reference<StoredSecrets>()("@svc/database/StoredSecrets", {
  defaultValue: (): SecretBox => makeBox(undefined, [])
}) {
  static readonly layer: Layer.Layer<never, ConfigError.ConfigError> = Layer.effectContext(
    Effect.gen(function* () {
      const [current, ...more] = yield* keysIn("SVC_SECRET_KEY")
      const previous = yield* keysIn("SVC_SECRET_KEY_PREVIOUS")
      if (more.length > 0) {
        return yield* Effect.fail(
          ConfigError.InvalidData(["SVC_SECRET_KEY"], "must be one key; older ones are SVC_SECRET_KEY_PREVIOUS")
        )
      }
      return Context.make(StoredSecrets, makeBox(current, previous))
    })
  )
}
