import { createHash } from "node:crypto"

const entities: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}
/** Text as HTML. */
export const html = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? character)

/** How a Content-Security-Policy names an inline style or script: by what it is. */
export const hashSource = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`
