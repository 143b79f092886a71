/** Appointments in memory. A real server would keep them in its database. */
export class Appointments {
  readonly #free = new Map<string, ReadonlyArray<string>>([
    ["monday", ["11:00", "15:30"]],
    ["tuesday", ["9:30"]],
    ["wednesday", []],
    ["thursday", ["10:00", "13:00", "16:00"]],
    ["friday", ["9:00", "10:30"]]
  ])

  /** The free times of a weekday, e.g. `9:00`; none for a day that is full, unknown or at the weekend. */
  free(day: string): ReadonlyArray<string> {
    return this.#free.get(day.toLowerCase()) ?? []
  }

  /** Books a slot. False when it is not free. */
  book(day: string, time: string): boolean {
    const slots = this.free(day)
    if (!slots.includes(time)) return false
    this.#free.set(
      day.toLowerCase(),
      slots.filter((slot) => slot !== time)
    )
    return true
  }
}
