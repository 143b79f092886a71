/** A mutant that behaves as the code does, so no test can notice it. */
export interface Equivalent {
  readonly file: string
  /** As the report describes it. */
  readonly change: string
  readonly reason: string
}

export const equivalents: ReadonlyArray<Equivalent> = []
