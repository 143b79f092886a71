import { Schema, Struct } from "effect"
import { Name } from "../accounts/Name.ts"
import { variant } from "../EntityFields.ts"
import { AgentFields } from "./AgentFields.ts"

/** The fields of a body, the required ones first. */
const requiredFirst = <F extends { readonly name: unknown; readonly server_url: unknown }>(fields: F): F => ({
  ...Struct.pick(fields, "name", "server_url"),
  ...fields
})

/** Body of `POST /v1/agents`. */
export const AgentCreate = Schema.Struct(requiredFirst(variant(AgentFields, "create").fields)).annotations({
  identifier: "AgentCreate"
})
export type AgentCreate = typeof AgentCreate.Type

/** Body of `PATCH /v1/agents/<id>`: what is absent stays. */
export const AgentUpdate = Schema.Struct(requiredFirst(variant(AgentFields, "update").fields)).annotations({
  identifier: "AgentUpdate"
})
export type AgentUpdate = typeof AgentUpdate.Type

/** Body of `POST /v1/agents/<id>/clone`. */
export const AgentClone = Schema.Struct({
  name: Schema.optional(
    Name("name must not be empty").annotations({
      description: "Default: `Copy of ` and the name of the source",
      examples: ["Reception at night"]
    })
  )
}).annotations({ identifier: "AgentClone" })
export type AgentClone = typeof AgentClone.Type
