import { writeSync } from "node:fs"
import { Session } from "node:inspector"
import { parentPort, workerData } from "node:worker_threads"
import type { StallFrame, StallMessage, StallThreadData } from "./StallWatch.ts"

/**
 * The thread that watches the main thread: when its beats stop, it pauses the main thread for a moment through V8's
 * debugger, reads what it is doing, and reports that when it goes on.
 */

const { limits, shared }: StallThreadData = workerData
const beats = new BigInt64Array(shared)

/** How often the thread looks while the main thread stands still. Otherwise it sleeps until a stall would have begun. */
const lookMs = 50
/** A thread that is itself so late, as on a machine that was suspended, knows nothing about the main thread. */
const lateMs = 1500

const now = (): number => Number(process.hrtime.bigint() / 1_000_000n)
const lastBeat = (): number => Number(Atomics.load(beats, 0) / 1_000_000n)

/** The last beat that was seen. */
let seen = lastBeat()
/** From when on the main thread may have stood still. */
let since = now()
/** When this look was due. */
let due = since
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
  const time = now()
  const beat = lastBeat()
  const isLate = time - due > lateMs
  if (beat !== seen || isLate) {
    if (frames !== undefined && beat !== seen)
      parentPort?.postMessage({ ms: beat - seen, frames } satisfies StallMessage)
    seen = beat
    since = isLate ? time : beat
    frames = undefined
    hasWarned = false
  }
  const ms = time - since
  if (ms >= limits.stallMs && frames === undefined) {
    frames = []
    look((found) => {
      // It may have gone on in the meantime.
      if (frames !== undefined) frames = found
    })
  }
  // The main thread cannot log this itself.
  if (ms >= limits.warnMs && !hasWarned) {
    hasWarned = true
    writeSync(2, `svc: nothing has run for ${Math.round(ms / 1000)} s but ${placeOf(frames ?? [])}\n`)
  }
  if (ms >= limits.endMs) {
    writeSync(2, `svc: nothing has run for ${Math.round(ms / 1000)} s: the process ends, to be started again\n`)
    process.kill(process.pid, "SIGKILL")
  }
  const pause = frames === undefined ? limits.stallMs - ms : lookMs
  due = time + pause
  setTimeout(check, pause)
}

check()
