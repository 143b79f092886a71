import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { signatureOf } from "../src/Signature.ts"

const docs = readFileSync(new URL("../../../docs/webhooks.md", import.meta.url), "utf8")
const snippet = (language: string) => new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(docs)?.[1] ?? ""

const secret = "5".repeat(64)
const timestamp = 1_793_525_400
const body = '{"data":{"text":"grüß dich 😀"}}'
const signature = signatureOf(secret, timestamp, body)
const forged = signature.replace(/.$/, (last) => (last === "0" ? "1" : "0"))
const cases = [
  [body, signature, true],
  [body, forged, false],
  [`${body} `, signature, false],
  [body, "sha256=", false],
  [body, "", false]
] as const

const has = (program: string, flag: string) => spawnSync(program, [flag]).status === 0

/** Runs a program that prints true or false for each case. */
const results = (file: string, source: string, command: ReadonlyArray<string>) => {
  const folder = mkdtempSync(join(tmpdir(), "svc-snippet-"))
  try {
    writeFileSync(join(folder, file), source)
    const [program = "", ...args] = command
    const { stderr, stdout } = spawnSync(program, [...args, join(folder, file)], { encoding: "utf8" })
    return stderr === "" ? stdout.trim().toLowerCase().split(/\s+/) : [stderr]
  } finally {
    rmSync(folder, { recursive: true })
  }
}
const expected = cases.map(([, , good]) => String(good))
const json = JSON.stringify

describe("the signature check in docs/webhooks.md", () => {
  it("accepts valid signatures and refuses forged ones in Node", () => {
    const calls = cases.map(
      ([text, sign]) => `console.log(isSigned(${json(secret)}, "${timestamp}", ${json(text)}, ${json(sign)}))`
    )
    expect(results("check.mjs", `${snippet("js")}\n${calls.join("\n")}`, [process.execPath])).toEqual(expected)
  })

  it.runIf(has("python3", "--version"))("accepts valid signatures and refuses forged ones in Python", () => {
    const calls = cases.map(
      ([text, sign]) =>
        `print(is_signed(${json(secret)}, "${timestamp}", bytes.fromhex("${Buffer.from(text).toString("hex")}"), ${json(sign)}))`
    )
    expect(results("check.py", `${snippet("python")}\n${calls.join("\n")}`, ["python3"])).toEqual(expected)
  })

  it.runIf(has("go", "version"))("accepts valid signatures and refuses forged ones in Go", () => {
    const calls = cases.map(
      ([text, sign]) =>
        `println(IsSigned(${json(secret)}, "${timestamp}", []byte{${[...Buffer.from(text)].join(",")}}, ${json(sign)}))`
    )
    const source = `${snippet("go").replace("package webhook", "package main")}\nfunc main() {\n${calls.join("\n").replaceAll("println", "fmt.Println")}\n}`
    expect(results("check.go", source.replace("import (", 'import (\n"fmt"'), ["go", "run"])).toEqual(expected)
  })
})
