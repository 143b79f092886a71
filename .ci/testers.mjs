// vitest's set-up of each test file. Files of one process share @effect/vitest, whose `layer` replaces the functions of `it`;
// this restores them for the next file.
import { setImmediate } from "node:timers/promises"
import { effect, flakyTest, it, layer, live, prop, scoped, scopedLive } from "@effect/vitest"
import { beforeEach } from "vitest"

Object.assign(it, { effect, flakyTest, layer, live, prop, scoped, scopedLive })

// Tests without I/O, one after the other, hold the process: on a slow machine for more than the minute within which it must read
// the answers of vitest to its reports.
beforeEach(() => setImmediate())
