import { Context } from "effect"

/** Where others reach this server: what comes before the path of a link to it. */
export class PublicUrl extends Context.Tag("@svc/call-engine/PublicUrl")<
  PublicUrl,
  {
    /** Without a slash at the end; empty where the address is not known, so that links are paths. */
    readonly base: string
  }
>() {}
