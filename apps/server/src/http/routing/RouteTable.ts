import { Data } from "effect"

/** Path parameters by name, decoded: see {@link RouteTable}. */
export interface PathParams {
  readonly [name: string]: string
}

/** The result of a look-up. */
export type Found<A> =
  | { readonly _tag: "Match"; readonly value: A; readonly params: PathParams; readonly search: string }
  | { readonly _tag: "NoSuchPath" }
  /** `allow`: the methods that the path has, as the `Allow` header lists them. */
  | { readonly _tag: "NoSuchMethod"; readonly allow: string }
  /** The URL is invalid: too long, or with a percent sign that begins no escape. */
  | { readonly _tag: "Malformed"; readonly tooLong: boolean }

/** Two routes of the same method and path; one of them would never be reached. */
export class RouteConflict extends Data.TaggedError("RouteConflict")<{ readonly message: string }> {}

interface Leaf<A> {
  readonly value: A
  /** Names of the path's parameters, in their order. */
  readonly names: ReadonlyArray<string>
}

interface Node<A> {
  readonly literals: Map<string, Node<A>>
  parameter: Node<A> | undefined
  readonly methods: Map<string, Leaf<A>>
}

const node = <A>(): Node<A> => ({ literals: new Map(), parameter: undefined, methods: new Map() })

/** Longest request target, in bytes. */
const maxUrl = 8192

/** The target's path and query; a proxy may send an absolute URL. */
const split = (target: string): readonly [path: string, search: string] => {
  const local = target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?#]*/i, "")
  const end = local.indexOf("?")
  return end < 0 ? [local, ""] : [local.slice(0, end), local.slice(end + 1)]
}

/** The path of a request target, without scheme and host. */
export const pathOf = (target: string): string => split(target)[0]

const brokenEscape = /%(?![0-9a-f]{2})/i

/**
 * The text of a segment. One whose escapes are not UTF-8, or contain NUL, which PostgreSQL takes in no text, names
 * nothing: it stays as it was sent, so that look-ups do not find it.
 */
const decode = (segment: string): string => {
  if (!segment.includes("%")) return segment
  try {
    const text = decodeURIComponent(segment)
    return text.includes("\u0000") ? segment : text
  } catch {
    return segment
  }
}

/**
 * Finds routes by method and path. A segment `:name` takes any one segment that is not empty; a literal one wins over
 * it. One slash at the end is ignored. HEAD is answered by GET's route. Letters of either case are different. Parameters
 * are text without NUL: a segment that is not stays percent-encoded, and is answered as an unknown id.
 */
export class RouteTable<A> {
  readonly #root: Node<A> = node()

  /** Adds a route; `path` starts with a slash. Returns the conflict when the route exists already. */
  add(method: string, path: string, value: A): RouteConflict | undefined {
    const names: Array<string> = []
    let at = this.#root
    for (const segment of path.slice(1).split("/")) {
      if (segment.startsWith(":")) {
        names.push(segment.slice(1))
        at.parameter ??= node()
        at = at.parameter
      } else {
        const next = at.literals.get(segment) ?? node<A>()
        at.literals.set(segment, next)
        at = next
      }
    }
    if (at.methods.has(method)) return new RouteConflict({ message: `the route ${method} ${path} is there twice` })
    at.methods.set(method, { value, names })
    return undefined
  }

  find(method: string, target: string): Found<A> {
    if (target.length > maxUrl) return { _tag: "Malformed", tooLong: true }
    const [path, search] = split(target)
    if (brokenEscape.test(path)) return { _tag: "Malformed", tooLong: false }
    const segments = path.slice(1).split("/")
    if (segments.length > 1 && segments.at(-1) === "") segments.pop()
    const values: Array<string> = []
    const at = walk(this.#root, segments, 0, values)
    if (at === undefined) return { _tag: "NoSuchPath" }
    const leaf = at.methods.get(method) ?? (method === "HEAD" ? at.methods.get("GET") : undefined)
    if (leaf === undefined) {
      const methods = [...at.methods.keys()].flatMap((name) => (name === "GET" ? ["GET", "HEAD"] : [name]))
      return { _tag: "NoSuchMethod", allow: methods.join(", ") }
    }
    const params: Record<string, string> = {}
    leaf.names.forEach((name, index) => {
      params[name] = decode(values[index] ?? "")
    })
    return { _tag: "Match", value: leaf.value, params, search }
  }
}

/** The node of a path; `values` holds the parameters' raw values on the way to it. */
const walk = <A>(
  at: Node<A>,
  segments: ReadonlyArray<string>,
  index: number,
  values: Array<string>
): Node<A> | undefined => {
  const segment = segments[index]
  if (segment === undefined) return at.methods.size > 0 ? at : undefined
  const literal = at.literals.get(segment)
  const found = literal === undefined ? undefined : walk(literal, segments, index + 1, values)
  if (found !== undefined || at.parameter === undefined || segment === "") return found
  values.push(segment)
  const below = walk(at.parameter, segments, index + 1, values)
  if (below === undefined) values.pop()
  return below
}
