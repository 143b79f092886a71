import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Projects } from "@svc/auth/Projects"
import { Effect, Layer } from "effect"
import { CallsOfDeletedProjects } from "../../src/CallEngineSlice.ts"
import { agentOnNumber, Base, configuration, dial, Engine, until } from "../doubles/Engine.ts"
import * as Record from "../doubles/Record.ts"

const Test = CallsOfDeletedProjects.pipe(Layer.provideMerge(Engine), Layer.provideMerge(Base))

const orgOf = (projectId: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<{ org_id: number }>`select org_id from projects where id = ${projectId}`,
      ([row]) => row?.org_id ?? Number.NaN
    )
  )

const talkative = () => configuration({ otherwise: "Ok." }, { first_message: "Hello.", end_session_message: "Bye." })

describe.concurrent("deleting a project", () => {
  layer(Test, { timeout: "60 seconds", excludeTestServices: true })("ends its live calls", (it) => {
    it.scoped("as the API does, with their farewell, and not those of other projects", () =>
      Effect.gen(function* () {
        const projects = yield* Projects
        const [mine, other] = [yield* agentOnNumber(talkative), yield* agentOnNumber(talkative)]
        const [caller, otherCaller] = [yield* dial(mine.number), yield* dial(other.number)]
        yield* caller.hears(/Hello/)
        yield* otherCaller.hears(/Hello/)
        yield* projects.remove(yield* orgOf(mine.project.id), mine.project.public_id)
        yield* caller.hears(/Bye/)
        expect((yield* Record.settled(mine.number)).outcome).toBe("completed answered api")
        otherCaller.send({ event: "say", text: "Still there?" })
        yield* otherCaller.hears(/Ok/)
        otherCaller.send({ event: "hangup" })
        expect((yield* Record.settled(other.number)).outcome).toBe("completed answered caller-hangup")
        // The number of the deleted project accepts no more calls.
        const late = yield* dial(mine.number)
        yield* late.until("rejected")
      })
    )

    it.scoped("when another node deletes the project", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { number, project } = yield* agentOnNumber(talkative)
        const caller = yield* dial(number)
        yield* caller.hears(/Hello/)
        yield* sql`update projects set deleted_at = now() where id = ${project.id}`
        expect((yield* Record.settled(number)).outcome).toBe("completed answered api")
      })
    )

    it.scoped("before they are answered", () =>
      Effect.gen(function* () {
        const projects = yield* Projects
        // The server never answers call.started.
        const { number, project, server } = yield* agentOnNumber(() => ({ write: () => undefined }))
        yield* dial(number)
        yield* until(
          Effect.sync(() => server.received.length),
          (asked) => asked > 0
        )
        yield* projects.remove(yield* orgOf(project.id), project.public_id)
        expect((yield* Record.settled(number)).outcome).toBe("failed failed error")
      })
    )
  })
})
