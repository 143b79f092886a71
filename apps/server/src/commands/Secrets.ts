import { Database } from "@svc/database/Database"
import { reencrypt } from "@svc/database/SecretRotation"
import { StoredSecrets } from "@svc/database/StoredSecrets"
import { Console, Effect, Layer } from "effect"

/** `svc secrets rotate`: encrypts all signing secrets in the database with `SVC_SECRET_KEY`, beside running servers. */
export const rotateSecrets = (options: { readonly json: boolean }) =>
  Effect.gen(function* () {
    const encrypted = yield* reencrypt
    yield* Console.log(
      options.json
        ? JSON.stringify({ encrypted })
        : `Encrypted ${encrypted} signing secrets with SVC_SECRET_KEY; the others were already.`
    )
  }).pipe(Effect.provide(Layer.merge(Database.layer, StoredSecrets.layer)))
