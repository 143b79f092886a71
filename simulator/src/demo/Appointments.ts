/** The book of an appointment line, in memory: what a real server would keep in its database. */
export class Appointments {
  readonly #free = new Map<string, ReadonlyArray<string>>([
    ["monday", ["11:00", "15:30"]],
    ["tuesday", ["9:30"]],
    ["wednesday", []],
    ["thursday", ["10:00", "13:00", "16:00"]],
    ["friday", ["9:00", "10:30"]]
  ])

  /** The free times of a weekday, `9:00`; none on a day that is full, unknown or at the weekend. */
  free(day: string): ReadonlyArray<string> {
    return this.#free.get(day.toLowerCase()) ?? []
  }

  /** Takes a slot. False when it is not free: somebody else was faster, or it never was. */
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
