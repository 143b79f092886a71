#!/usr/bin/env node
import "../node-version.cjs"

void import("node:v8").then(({ setFlagsFromString }) => {
  // Set before most code is compiled: see docs/decisions/0034-short-lived-objects.md.
  setFlagsFromString("--no-allocation-site-pretenuring")
  // Imported only now: an old Node.js cannot read it.
  return import("./Program.ts")
})
