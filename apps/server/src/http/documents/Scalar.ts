import { readFileSync } from "node:fs"
import { Schema } from "effect"

const folder = new URL("../../../assets/scalar/", import.meta.url)

/** What `npm run scalar` records of the npm package: `integrity` is the registry's, `sha256` that of the script in hex. */
const Release = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  integrity: Schema.String,
  sha256: Schema.String
})

/** The release of Scalar's API reference that the repository contains. */
export const release: typeof Release.Type = Schema.decodeUnknownSync(Schema.parseJson(Release))(
  readFileSync(new URL("scalar.json", folder), "utf8")
)

/** Its script for browsers, compressed with gzip: 1.3 MB. */
export const readScript = (): Uint8Array => readFileSync(new URL("standalone.js.gz", folder))
