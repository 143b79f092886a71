// Makes docs/simulator.svg, the picture of the README, from a real run of the demo: `npm run picture`. Each line is a text
// of its own that keeps its spaces; nothing is stretched, so that every monospace font looks right.
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"

const output = execFileSync("npm", ["run", "--silent", "demo"], {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"],
  env: { ...process.env, NO_COLOR: "1" },
  timeout: 300_000
})
const all = output.split("\n")
const start = all.findIndex((line) => line.includes("dialling"))
const end = all.findIndex((line) => line.startsWith("Latency per turn"))
if (start < 0 || end < start) {
  console.error("picture: the demo did not play its first call; its output:\n" + output)
  process.exit(1)
}
const lines = ["$ npm run demo", "", ...all.slice(start, end)].map((line) => line.trimEnd())
while (lines.at(-1) === "") lines.pop()

const widest = 84
const cut = (line) => (line.length > widest ? `${line.slice(0, widest - 1)}…` : line)
const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;")

/** The class of a line by its speaker or kind. */
const kindOf = (line) => {
  if (/^\d+:[\d.]+ +agent/.test(line) || / assistant /.test(line)) return "agent"
  if (/^\d+:[\d.]+ +caller/.test(line) || / user /.test(line)) return "caller"
  if (/⚙/.test(line)) return "tool"
  if (/^(\$|Call record|Transcript)/.test(line)) return "head"
  return /^\d+:[\d.]+ +·/.test(line) ? "faint" : "plain"
}

const size = 14
const height = 20
const texts = lines.map((line, index) => {
  const y = 30 + index * height
  return line === ""
    ? ""
    : `<text x="20" y="${y}" class="${kindOf(line)}" xml:space="preserve">${escaped(cut(line))}</text>`
})
// A monospace character is about 0.6 em wide; fonts up to 0.65 em fit.
const width = Math.ceil(widest * size * 0.65) + 40
const total = 30 + lines.length * height
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${total}" width="${width}" height="${total}" role="img" aria-label="A call with a tool in the Svc simulator">
<style>text { font: ${size}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; fill: #d8dee9 }
.agent { fill: #8ab0ff } .caller { fill: #eab65c } .tool { fill: #6fd495 } .head { fill: #fff; font-weight: bold } .faint { fill: #8b95a5 }</style>
<rect width="100%" height="100%" rx="8" fill="#14181f"/>
${texts.filter((text) => text !== "").join("\n")}
</svg>
`
writeFileSync(new URL("../docs/simulator.svg", import.meta.url), svg)
console.log(`picture: ${lines.length} lines`)
