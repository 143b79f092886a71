/** The verbs that the emulated carrier carries out, as far as the plugin uses them. */
export type Verb =
  | { readonly verb: "Connect"; readonly url: string; readonly parameters: Readonly<Record<string, string>> }
  | { readonly verb: "Redirect"; readonly url: string }
  | {
      readonly verb: "Dial"
      readonly action: string
      readonly callerId: string | undefined
      readonly number: string
      readonly statusCallback: string
    }
  | { readonly verb: "Reject"; readonly reason: string }
  | { readonly verb: "Hangup" }

const unescaped = (text: string): string =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'")
    .replaceAll("&amp;", "&")

const attributesOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...text.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, unescaped(value)])
  )

/** The elements of this name directly or deeper within a text. */
const elements = (text: string, name: string) =>
  [...text.matchAll(new RegExp(`<${name}\\b([^>]*?)(?:/>|>([\\s\\S]*?)</${name}>)`, "g"))].map(
    ([, attributes = "", content = ""]) => ({ attributes: attributesOf(attributes), content })
  )

/** The verbs of a document, in order. Throws for one that is no TwiML. */
export const verbsOf = (document: string): ReadonlyArray<Verb> => {
  const [root] = elements(document, "Response")
  if (root === undefined && !document.includes("<Response/>")) throw new Error(`no TwiML: ${document}`)
  const verbs = [
    ...(root?.content ?? "").matchAll(/<(Connect|Redirect|Dial|Reject|Hangup)\b[^>]*?(?:\/>|>[\s\S]*?<\/\1>)/g)
  ]
  return verbs.map(([text, verb = ""]): Verb => {
    const [element] = elements(text, verb)
    const { attributes = {}, content = "" } = element ?? {}
    switch (verb) {
      case "Connect": {
        const [stream] = elements(content, "Stream")
        const parameters = elements(stream?.content ?? "", "Parameter").map(({ attributes }) => attributes)
        return {
          verb,
          url: stream?.attributes["url"] ?? "",
          parameters: Object.fromEntries(parameters.map(({ name = "", value = "" }) => [name, value]))
        }
      }
      case "Redirect":
        return { verb, url: unescaped(content) }
      case "Dial": {
        const [number] = [...elements(content, "Number"), ...elements(content, "Sip")]
        return {
          verb,
          action: attributes["action"] ?? "",
          callerId: attributes["callerId"],
          number: unescaped(number?.content ?? ""),
          statusCallback: number?.attributes["statusCallback"] ?? ""
        }
      }
      case "Reject":
        return { verb, reason: attributes["reason"] ?? "rejected" }
      default:
        return { verb: "Hangup" }
    }
  })
}
