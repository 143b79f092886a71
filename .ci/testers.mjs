// vitest's set-up of each test file. Files of one process share @effect/vitest, whose `layer` writes the testers of its layer
// over those of `it`; the next file is given the original ones back.
import { effect, flakyTest, it, layer, live, prop, scoped, scopedLive } from "@effect/vitest"

Object.assign(it, { effect, flakyTest, layer, live, prop, scoped, scopedLive })
