import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { expect, it } from "@effect/vitest"
import type { DeclaredError } from "../src/Handlers.ts"
import { define, Unavailable } from "../src/VoiceError.ts"
import { type PaygLimit, ResourceNotFound } from "../src/WorkspaceError.ts"

class Declared extends define("Declared", "DECLARED", 404, "declared by the endpoint") {}
class Undeclared extends define("Undeclared", "UNDECLARED", 404, "declared nowhere") {}

const voiceEndpoint = HttpApiEndpoint.del("remove", "/v1/items").addError(Declared.wire)
const voiceApi = HttpApi.make("voice").add(HttpApiGroup.make("items").add(voiceEndpoint)).addError(Unavailable.wire)
const workspaceEndpoint = HttpApiEndpoint.del("remove", "/items").addError(ResourceNotFound.wire)
const workspaceApi = HttpApi.make("workspace").add(HttpApiGroup.make("items").add(workspaceEndpoint))

/** Whether a handler of the endpoint may fail with the error. The compiler checks the values below against it. */
type Voice<E> = E extends DeclaredError<typeof voiceApi, typeof voiceEndpoint> ? true : false
type Workspace<E> = E extends DeclaredError<typeof workspaceApi, typeof workspaceEndpoint> ? true : false

it("a handler may fail with the errors that its endpoint or its API declares, and with no others", () => {
  const ofEndpoint: [Voice<Declared>, Workspace<ResourceNotFound>] = [true, true]
  const ofApi: Voice<Unavailable> = true
  const undeclared: [Voice<Undeclared>, Workspace<PaygLimit>] = [false, false]
  expect([ofEndpoint, ofApi, undeclared]).toEqual([[true, true], true, [false, false]])
})
