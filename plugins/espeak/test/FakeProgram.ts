import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"

/** A program in place of espeak-ng. */
export interface FakeProgram {
  readonly path: string
  /** The process ids of the texts that it was asked to speak. */
  readonly processes: () => ReadonlyArray<number>
  /** The arguments of the last text. */
  readonly lastArguments: () => string
  /** The input of the last text, of a program whose `speaks` is {@link keepsInput}. */
  readonly lastInput: () => string
}

/** A WAV file as espeak-ng writes it, of one second of a tone. */
const tone = (): Buffer => {
  const file = Buffer.alloc(44 + 2 * 22_050)
  file.write("RIFF\x24\xf0\xff\x7fWAVEfmt ", 0, "latin1")
  file.writeUInt32LE(16, 16)
  file.writeUInt16LE(1, 20)
  file.writeUInt16LE(1, 22)
  file.writeUInt32LE(22_050, 24)
  file.writeUInt32LE(44_100, 28)
  file.writeUInt16LE(2, 32)
  file.writeUInt16LE(16, 34)
  file.write("data", 36, "latin1")
  for (let i = 0; i < 22_050; i++) file.writeInt16LE(Math.round(8000 * Math.sin(i / 10)), 44 + 2 * i)
  return file
}

/** Shell commands with which the program speaks; `$folder` has `tone.wav`. */
export const speaksTone = 'cat >/dev/null; cat "$folder/tone.wav"'
export const keepsInput = 'cat >"$folder/input"; cat "$folder/tone.wav"'

/** Writes a program that lists all voices and speaks by `speaks`; it is removed with the scope. */
export const fakeProgram = (speaks: string): Effect.Effect<FakeProgram, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-espeak-"))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
    ),
    (folder) => {
      const path = join(folder, "program")
      const languages = "en-us en-gb es nl de fr-fr it pt pl sv da nb fi".split(" ")
      const table = (files: ReadonlyArray<readonly [string, string]>) =>
        files.map(([language, file]) => ` 5  ${language}  --/M  Name  ${file}`).join("\n")
      writeFileSync(join(folder, "tone.wav"), tone())
      writeFileSync(join(folder, "voices"), table(languages.map((name) => [name, `file/${name}`])))
      writeFileSync(join(folder, "variants"), table(["f2", "f3", "m3"].map((name) => ["variant", `!v/${name}`])))
      writeFileSync(
        path,
        `#!/bin/sh
folder='${folder}'
case "$1" in
  --voices) cat "$folder/voices"; exit 0;;
  --voices=variant) cat "$folder/variants"; exit 0;;
esac
echo $$ >>"$folder/processes"
echo "$@" >"$folder/arguments"
${speaks}
`
      )
      chmodSync(path, 0o755)
      const read = (name: string) => (existsSync(join(folder, name)) ? readFileSync(join(folder, name), "utf8") : "")
      return {
        path,
        processes: () => read("processes").split("\n").filter(Boolean).map(Number),
        lastArguments: () => read("arguments").trim(),
        lastInput: () => read("input")
      }
    }
  )

/** Whether a process exists. */
export const isRunning = (id: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${id}/status`, "utf8"))
  } catch {
    return false
  }
}
