// vitest's set-up of each test file. Files of one process share @effect/vitest, whose `layer` replaces the functions of `it`;
// this restores them for the next file.
import { effect, flakyTest, it, layer, live, prop, scoped, scopedLive } from "@effect/vitest"

Object.assign(it, { effect, flakyTest, layer, live, prop, scoped, scopedLive })
