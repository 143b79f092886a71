import type { Access } from "@svc/api/Principal"
import type { ValidationError } from "@svc/api/VoiceError"
import type { Contract, Parameter } from "./DocumentsContract.ts"

/** An error's schema on the wire. */
export type Wire = (typeof ValidationError)["wire"]

/** What the server does for every endpoint of an API, beside what the endpoint itself declares. */
export interface Conventions {
  /** Every header that answers may have. */
  readonly headers: NonNullable<Contract["components"]["headers"]>
  /** The names of the headers that an answer of this status has. */
  readonly headersOf: (status: number) => ReadonlyArray<string>
  /** The parameters that requests take beside the endpoint's own. */
  readonly parametersOf: (access: Access) => ReadonlyArray<Parameter>
  /** The errors that the server's own checks add to an endpoint's, in the order of the checks. */
  readonly checksOf: (method: string, access: Access, takesBody: boolean) => ReadonlyArray<Wire>
}
