import type { StoredJournal } from "@svc/call-engine/record/JournalRepo"
import type { Command } from "@svc/conversation/Command"
import { Facts, Input } from "@svc/conversation/Input"
import type { RecordedInput } from "@svc/conversation/Replay"
import { Data, Either, ParseResult, Schema, SchemaAST } from "effect"

/** A replay is not possible: what is wrong, and where. */
export class ReplayImpossible extends Data.TaggedError("ReplayImpossible")<{ readonly message: string }> {}

/** A journal whose inputs this version knows. */
export interface Journal {
  readonly call_id: string
  /** Of a saved journal: the version of the program that saved it, and when (ISO 8601). */
  readonly saved: { readonly version: string; readonly at: string } | null
  /** False while the call is live; null when that is not known. */
  readonly ended: boolean | null
  readonly rows: ReadonlyArray<RecordedInput>
  /**
   * The commands that the recording version gave, by `seq`: those of a saved journal whose version still acted as
   * recorded. The database holds their digest alone.
   */
  readonly recorded: ReadonlyMap<number, ReadonlyArray<Command>>
}

const decodeFacts = Schema.decodeUnknownEither(Facts)
const decodeInput = Schema.decodeUnknownEither(Input)

const tagsOf = (ast: SchemaAST.AST): ReadonlyArray<string> => {
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap(tagsOf)
  if (!SchemaAST.isTypeLiteral(ast)) return []
  const tag = ast.propertySignatures.find(({ name }) => name === "_tag")?.type
  return tag !== undefined && SchemaAST.isLiteral(tag) ? [String(tag.literal)] : []
}
const knownTags = new Set(tagsOf(Schema.typeSchema(Schema.Union(Facts, Input)).ast))

const tagOf = (input: unknown): string | undefined =>
  typeof input === "object" && input !== null && "_tag" in input && typeof input._tag === "string"
    ? input._tag
    : undefined

/** The first fault of a value, in one line. */
export const firstFault = (error: ParseResult.ParseError): string => {
  const [fault] = ParseResult.ArrayFormatter.formatErrorSync(error)
  if (fault === undefined) return "it cannot be decoded"
  const path = fault.path.map(String).join(".")
  return path === "" ? fault.message : `${path}: ${fault.message}`
}

const impossible = (message: string) => Either.left(new ReplayImpossible({ message }))

/** Decodes the rows of a journal. `where` names the journal in errors. */
export const decodeRows = (
  where: string,
  rows: StoredJournal["rows"]
): Either.Either<ReadonlyArray<RecordedInput>, ReplayImpossible> => {
  const decoded: Array<RecordedInput> = []
  for (const [index, row] of rows.entries()) {
    if (row.seq !== index) return impossible(`${where} has no row ${index}: it is not whole, so it cannot be replayed`)
    const tag = tagOf(row.input)
    const input: Either.Either<Facts | Input, ParseResult.ParseError> =
      tag === "Facts" ? decodeFacts(row.input) : decodeInput(row.input)
    if (Either.isLeft(input)) {
      return impossible(
        tag !== undefined && !knownTags.has(tag)
          ? `row ${row.seq} of ${where} is an input ${JSON.stringify(tag)}, which this version does not know: ` +
              "replay it with the version that ran the call, or a later one"
          : `row ${row.seq} of ${where} cannot be read: ${firstFault(input.left)}`
      )
    }
    const isFacts = input.right._tag === "Facts"
    if (isFacts !== (index === 0)) {
      return impossible(
        isFacts
          ? `row ${index} of ${where} holds the facts of a call again: only row 0 may`
          : `${where} does not begin with the facts of a call`
      )
    }
    decoded.push({ seq: row.seq, input: input.right, commands: row.commands })
  }
  return Either.right(decoded)
}
