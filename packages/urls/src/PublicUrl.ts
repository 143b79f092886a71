import { Context } from "effect"

/** The address of this server in links that others follow. */
export class PublicUrl extends Context.Tag("@svc/urls/PublicUrl")<
  PublicUrl,
  {
    /** Precedes the path, without a slash at its end. Empty where the address is not known: links are then paths. */
    readonly base: string
  }
>() {}
