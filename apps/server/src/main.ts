#!/usr/bin/env node
import "../node-version.cjs"

// Imported only now: an old Node.js cannot read what comes next.
void import("node:v8").then(({ setFlagsFromString }) => {
  // Before most code is compiled: see docs/decisions/0034-short-lived-objects.md.
  setFlagsFromString("--no-allocation-site-pretenuring")
  return import("./Program.ts")
})
