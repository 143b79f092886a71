// Refuses a Node.js that is too old, in words that it understands itself: this file keeps to the syntax of 2009, and is
// loaded before anything else, because an old Node.js cannot read newer files.
var needed = require("./package.json").engines.node.replace(/^>=/, "")
var found = process.versions.node
var least = needed.split(".")
var parts = found.split(".")
var difference = 0
var index
for (index = 0; index < least.length && difference === 0; index++) {
  difference = Number(parts[index]) - Number(least[index])
}
if (difference < 0) {
  process.stderr.write("svc: Node.js " + found + " is too old: install Node.js 24, or at least " + needed + "\n")
  process.exit(1)
}
