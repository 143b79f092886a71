import * as fs from "node:fs/promises"
import * as path from "node:path"

const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "")

/**
 * Makes a folder and its parents, unless it is there. Rejects with the system's error. The `recursive` of `fs.mkdir` is
 * not used: where a folder cannot be made it may repeat the attempt for ever (in `/proc`, below a link to nowhere).
 */
export const makeFolder = (folder: string, mode = 0o777): Promise<void> => {
  const make = () => fs.mkdir(folder, { mode })
  return make()
    .catch((error: unknown) => {
      const parent = path.dirname(folder)
      if (codeOf(error) !== "ENOENT" || parent === folder) throw error
      return makeFolder(parent, mode).then(make)
    })
    .catch((error: unknown) =>
      // Made before, or by another process meanwhile. A file of this name is an error.
      fs.stat(folder).then(
        (found) => {
          if (!found.isDirectory()) throw error
        },
        () => {
          throw error
        }
      )
    )
}
