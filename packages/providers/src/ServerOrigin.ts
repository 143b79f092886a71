import { Schema } from "effect"

const isOrigin = (text: string): boolean => {
  try {
    const { origin, pathname, protocol, search } = new URL(text)
    return /^https?:$/.test(protocol) && pathname === "/" && search === "" && origin !== "null"
  } catch {
    return false
  }
}

/** A setting that names a vendor's server: an address of HTTP without a path, used for HTTP and WebSocket. */
export const serverOrigin = (example: string): Schema.Schema<string> =>
  Schema.String.pipe(
    Schema.filter(isOrigin, { message: () => `must be an http or https address without a path, as ${example}` })
  )
