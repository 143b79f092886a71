import { randomUUID } from "node:crypto"
import type { ModelToolCall } from "@svc/providers/LanguageModel"
import { Option, Schema } from "effect"

/** A piece of a tool call, as servers stream them. Some leave out the index, and send a call in one piece. */
export const ToolCallPiece = Schema.Struct({
  index: Schema.optional(Schema.NullOr(Schema.Number)),
  id: Schema.optional(Schema.NullOr(Schema.String)),
  function: Schema.optional(
    Schema.NullOr(
      Schema.Struct({
        name: Schema.optional(Schema.NullOr(Schema.String)),
        /** A part of the JSON; from some servers the object itself. */
        arguments: Schema.optional(Schema.Unknown)
      })
    )
  )
})
export type ToolCallPiece = typeof ToolCallPiece.Type

interface Open {
  readonly index: number
  readonly id: string
  name: string
  json: string
  isEmitted: boolean
}

const decodeArguments = Schema.decodeUnknownOption(
  Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
)

/** Puts tool calls together, and emits each as soon as it is complete. */
export class ToolCallAssembly {
  readonly #onCall: (call: ModelToolCall) => void
  readonly #ids = new Set<string>()
  #open: Array<Open> = []

  constructor(onCall: (call: ModelToolCall) => void) {
    this.#onCall = onCall
  }

  /** Whether a call was emitted. */
  get hasCalls(): boolean {
    return this.#ids.size > 0
  }

  /** Adds a piece. Returns what is wrong with a call that it ends, if anything. */
  push(piece: ToolCallPiece): string | undefined {
    const last = this.#open.at(-1)
    const index = piece.index ?? (piece.id === undefined || piece.id === null ? (last?.index ?? 0) : this.#open.length)
    const same = this.#open.findLast((open) => open.index === index)
    // Servers without indices send 0 for each call.
    const isNew = same === undefined || (!!piece.id && piece.id !== same.id && !!piece.function?.name)
    let problem: string | undefined
    let call = same
    if (call === undefined || isNew) {
      problem = last === undefined ? undefined : this.#complete(last)
      call = { index, id: piece.id || "", name: "", json: "", isEmitted: false }
      this.#open.push(call)
    }
    if (call.name === "") call.name = piece.function?.name ?? ""
    const given = piece.function?.arguments
    if (typeof given === "string") call.json += given
    else if (given !== undefined && given !== null) call.json += JSON.stringify(given)
    if (!call.isEmitted && call.json.trimEnd().endsWith("}")) this.#emit(call)
    return problem
  }

  /** Completes what is open. Returns what is wrong with it, if anything. */
  end(): string | undefined {
    for (const open of this.#open) {
      const problem = this.#complete(open)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #complete(call: Open): string | undefined {
    if (call.isEmitted || this.#emit(call)) return undefined
    return call.name === ""
      ? "a tool call has no name"
      : `the arguments of the tool call "${call.name}" are no JSON object`
  }

  /** Emits a call if its arguments are complete: an object of JSON cannot be continued. */
  #emit(call: Open): boolean {
    if (call.name === "") return false
    const decoded = decodeArguments(call.json.trim() === "" ? "{}" : call.json)
    if (Option.isNone(decoded)) return false
    const id = call.id === "" || this.#ids.has(call.id) ? `call_${randomUUID()}` : call.id
    this.#ids.add(id)
    call.isEmitted = true
    this.#onCall({ id, name: call.name, arguments: decoded.value })
    return true
  }
}
