import { bandCount } from "./BandSplitter.ts"

/** Levels in dB; 0 dB is one step of PCM16. */
const initialFloor = 12
const above = 120
/** How much of a new level goes into the smoothed one. */
const smoothing = 0.4
/** Frames in which the floors move fast, and the steps in dB per frame then and later. */
const startFrames = 100
const startStep = 0.9
const step = 0.36
/** A floor that is this far above the level falls faster, by `fall` dB per frame. */
const far = 9
const fall = 0.9
/** Frames after which a floor is raised to the lowest level among them: 0.8 s. */
const window = 40
/** How fast floors follow a steady sound, and fall while an echo is possible. */
const followSteady = 0.5
const followEcho = 0.1

/** How the floors follow a frame. */
export type Following = "noise" | "steady" | "echo"

/**
 * The noise floor of each band: the level below which a quarter of the last frames are, and at least the lowest level of
 * each 0.8 s. The spread says how unsteady the noise is.
 */
export class NoiseFloors {
  readonly floors = new Float64Array(bandCount).fill(initialFloor)
  /** The level of each band, smoothed over about 50 ms. */
  readonly #smoothed = new Float64Array(bandCount)
  /** The level below which a tenth of the frames are. */
  readonly #deep = new Float64Array(bandCount).fill(initialFloor)
  readonly #lowest = new Float64Array(bandCount).fill(above)
  #frames = 0

  /** How much the noise of a band varies, in dB: the floor less the level below which a tenth of the frames are. */
  spread(band: number): number {
    return (this.floors[band] ?? 0) - (this.#deep[band] ?? 0)
  }

  push(levels: Float64Array, following: Following): void {
    const { floors } = this
    const smoothed = this.#smoothed
    const deeps = this.#deep
    const lowests = this.#lowest
    this.#frames++
    const pace = this.#frames < startFrames ? startStep : step
    const isWindowEnd = this.#frames % window === 0
    for (let band = 0; band < bandCount; band++) {
      let floor = floors[band] ?? 0
      let deep = deeps[band] ?? 0
      const before = smoothed[band] ?? 0
      const level = before + ((levels[band] ?? 0) - before) * smoothing
      smoothed[band] = level
      let lowest = Math.min(lowests[band] ?? 0, level)
      if (following === "echo") {
        if (level < floor) floor += (level - floor) * followEcho
        lowest = Math.min(lowest, floor)
      } else if (following === "steady") {
        floor += (level - floor) * followSteady
        deep = Math.max(deep, floor - 1.5)
      } else {
        floor += level > floor ? pace * 0.25 : quantileFall(floor - level, pace * 0.75)
        deep += level > deep ? pace * 0.1 : quantileFall(deep - level, pace * 0.9)
        deep = Math.min(deep, floor)
      }
      if (isWindowEnd) {
        floor = Math.max(floor, lowest)
        deep = Math.max(deep, lowest)
        lowest = above
      }
      floors[band] = floor
      deeps[band] = deep
      lowests[band] = lowest
    }
  }
}

const quantileFall = (distance: number, pace: number): number => -Math.min(pace, distance) - (distance > far ? fall : 0)
