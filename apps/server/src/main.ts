#!/usr/bin/env node
import "../node-version.cjs"

// Imported only now: an old Node.js cannot read what comes next.
void import("./Program.ts")
