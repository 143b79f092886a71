import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import type { StoredJournal } from "@svc/call-engine/record/JournalRepo"
import type { Command } from "@svc/conversation/Command"
import { digest } from "@svc/conversation/Replay"
import { Effect, Either, Schema } from "effect"
import { decodeRows, firstFault, type Journal, ReplayImpossible } from "./Journal.ts"

/**
 * A journal in a file, as JSON lines: a head, then one line per row. It holds what was said in the call, so only its
 * owner can read the file.
 */

/** The version of the file's form. */
const form = 1

/** The most bytes of a file that is read: the journal of a call of an hour has about 10 MB with its commands. */
const maxBytes = 256 * 1024 * 1024

const Head = Schema.Struct({
  svc_journal: Schema.Literal(form),
  call_id: Schema.String,
  /** Of the program that saved the file. */
  version: Schema.String,
  saved_at: Schema.String,
  /** False: the call was live. */
  ended: Schema.Boolean,
  /** How many rows follow. */
  rows: Schema.Int
})
const AnyHead = Schema.parseJson(Schema.Struct({ svc_journal: Schema.Number }))

const Row = Schema.Struct({
  seq: Schema.Int,
  input: Schema.Unknown,
  /** The digest of the commands that the call's version gave. */
  commands: Schema.String,
  /** These commands, where the version that saved the file gave the same. */
  recorded: Schema.optional(
    Schema.Array(Schema.Struct({ _tag: Schema.String }, Schema.Record({ key: Schema.String, value: Schema.Unknown })))
  )
})

const decodeHead = Schema.decodeEither(Schema.parseJson(Head))
const decodeRow = Schema.decodeEither(Schema.parseJson(Row))

/** What the operating system says is wrong with a file, in words where they are known. */
const failed = (what: "read" | "written", file: string) => (error: PlatformError) => {
  const reason = error._tag === "SystemError" ? error.reason : undefined
  const words =
    reason === "NotFound"
      ? what === "read"
        ? "there is no such file, and it is no call's id"
        : "there is no such folder"
      : reason === "AlreadyExists"
        ? "it exists already"
        : reason === "PermissionDenied"
          ? "permission denied"
          : error.message
  return new ReplayImpossible({ message: `${file} cannot be ${what}: ${words}` })
}

const impossible = (message: string) => Either.left(new ReplayImpossible({ message }))

const parse = (file: string, text: string): Either.Either<Journal, ReplayImpossible> => {
  const [first = "", ...lines] = text.trimEnd().split("\n")
  const any = Schema.decodeEither(AnyHead)(first)
  if (Either.isLeft(any)) return impossible(`${file} is not a journal that svc replay --save has written`)
  if (any.right.svc_journal > form) {
    return impossible(
      `${file} has version ${any.right.svc_journal} of the form of saved journals; this program reads version ${form}: ` +
        "use the version that saved it, or a later one"
    )
  }
  const head = decodeHead(first)
  if (Either.isLeft(head)) return impossible(`line 1 of ${file} cannot be read: ${firstFault(head.left)}`)
  const rows: Array<typeof Row.Type> = []
  for (const [index, line] of lines.entries()) {
    const row = decodeRow(line)
    if (Either.isLeft(row)) return impossible(`line ${index + 2} of ${file} cannot be read: ${firstFault(row.left)}`)
    rows.push(row.right)
  }
  if (rows.length !== head.right.rows) {
    return impossible(`${file} has ${rows.length} rows in the place of ${head.right.rows}: it is not whole`)
  }
  return Either.map(
    decodeRows(
      file,
      rows.map(({ commands, input, seq }) => ({ seq, input, commands }))
    ),
    (decoded): Journal => ({
      call_id: head.right.call_id,
      saved: { version: head.right.version, at: head.right.saved_at },
      ended: head.right.ended,
      rows: decoded,
      recorded: new Map(
        rows.flatMap(({ commands, recorded, seq }) => {
          // Written by a command of this program; only the digest is compared.
          const given = recorded as unknown as ReadonlyArray<Command> | undefined
          return given !== undefined && digest(given) === commands ? [[seq, given] as const] : []
        })
      )
    })
  )
}

/** Reads a saved journal. */
export const read = (file: string): Effect.Effect<Journal, ReplayImpossible, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const { size } = yield* files.stat(file)
    if (Number(size) > maxBytes) {
      return yield* new ReplayImpossible({ message: `${file} is larger than ${maxBytes / 1024 / 1024} MB` })
    }
    return yield* parse(file, yield* files.readFileString(file))
  }).pipe(Effect.catchTags({ SystemError: failed("read", file), BadArgument: failed("read", file) }))

/**
 * Writes a journal to a new file. `given`: the commands that this version gives, by `seq`; those that agree with the
 * recorded ones are kept, so that a later version can be compared with them.
 */
export const write = (
  file: string,
  of: {
    readonly version: string
    readonly at: string
    readonly journal: StoredJournal
    readonly given: ReadonlyMap<number, ReadonlyArray<Command>>
  }
): Effect.Effect<void, ReplayImpossible, FileSystem.FileSystem> => {
  const { call_id, ended, rows } = of.journal
  const head: typeof Head.Type = {
    svc_journal: form,
    call_id,
    version: of.version,
    saved_at: of.at,
    ended,
    rows: rows.length
  }
  const lines = rows.map(({ commands, input, seq }) => {
    const given = of.given.get(seq)
    const recorded = given !== undefined && digest(given) === commands ? { recorded: given } : {}
    return JSON.stringify({ seq, input, commands, ...recorded })
  })
  const text = `${[JSON.stringify(head), ...lines].join("\n")}\n`
  return Effect.flatMap(FileSystem.FileSystem, (files) =>
    files.writeFileString(file, text, { flag: "wx", mode: 0o600 })
  ).pipe(Effect.catchAll(failed("written", file)))
}
