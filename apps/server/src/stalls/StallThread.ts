import { writeSync } from "node:fs"
import { Session } from "node:inspector"
import { parentPort, workerData } from "node:worker_threads"
import type { StallFrame, StallMessage, StallThreadData } from "./StallWatch.ts"

/**
 * The thread that watches the main thread: when its counter stands still, it pauses the main thread for a moment through
 * V8's debugger, reads what it is doing, and reports that when it goes on.
 */

const { beats, shared }: StallThreadData = workerData
const counter = new Int32Array(shared)

/** How often the thread looks. */
const lookMs = 50
/** A thread that is itself so late, as on a machine that was suspended, knows nothing about the main thread. */
const lateMs = 1500

let seen = 0
let looked = performance.now()
/** When the counter was last seen to change. */
let since = looked
let frames: ReadonlyArray<StallFrame> | undefined
let hasWarned = false

const placeOf = ([frame]: ReadonlyArray<StallFrame>): string =>
  frame === undefined ? "code that has no JavaScript" : `${frame.name || "a function"} at ${frame.url}:${frame.line}`

/** What the main thread is doing. Its innermost function comes first. */
const look = (onFrames: (frames: ReadonlyArray<StallFrame>) => void): void => {
  const session = new Session()
  session.connectToMainThread()
  const urls = new Map<string, string>()
  session.on("Debugger.scriptParsed", ({ params }) => void urls.set(params.scriptId, params.url))
  session.on("Debugger.paused", ({ params }) => {
    onFrames(
      params.callFrames.map(({ functionName, location, url }) => ({
        name: functionName,
        url: urls.get(location.scriptId) ?? url,
        line: location.lineNumber + 1,
        column: (location.columnNumber ?? 0) + 1
      }))
    )
    session.post("Debugger.resume")
    session.post("Debugger.disable", () => session.disconnect())
  })
  session.post("Debugger.enable", () => session.post("Debugger.pause"))
}

const check = (): void => {
  const now = performance.now()
  const isLate = now - looked > lateMs
  looked = now
  const count = Atomics.load(counter, 0)
  const ms = Math.round(now - since)
  if (count !== seen || isLate) {
    if (frames !== undefined && count !== seen) parentPort?.postMessage({ ms, frames } satisfies StallMessage)
    seen = count
    since = now
    frames = undefined
    hasWarned = false
    return
  }
  if (ms >= beats.stallMs && frames === undefined) {
    frames = []
    look((found) => {
      // It may have gone on in the meantime.
      if (frames !== undefined) frames = found
    })
  }
  // The main thread cannot log this itself.
  if (ms >= beats.warnMs && !hasWarned) {
    hasWarned = true
    writeSync(2, `svc: nothing has run for ${Math.round(ms / 1000)} s but ${placeOf(frames ?? [])}\n`)
  }
  if (ms >= beats.endMs) {
    writeSync(2, `svc: nothing has run for ${Math.round(ms / 1000)} s: the process ends, to be started again\n`)
    process.kill(process.pid, "SIGKILL")
  }
}

setInterval(check, lookMs)
