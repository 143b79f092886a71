import { expect, layer } from "@effect/vitest"
import { FilterAgents } from "@svc/webhooks/FilterAgents"
import { Effect, Option } from "effect"
import { Agents } from "../src/Agents.ts"
import { create, owner, Test } from "./Fixture.ts"

layer(Test)("FilterAgents", (it) => {
  it.effect("finds an agent for its organization and for its project", () =>
    Effect.gen(function* () {
      const { find } = yield* FilterAgents
      const by = yield* owner
      const { agent } = yield* create(by)
      for (const project_id of [null, by.project.id]) {
        expect(yield* find({ org_id: by.org.id, project_id }, agent.id)).toEqual(Option.some(agent.public_id))
      }
    })
  )

  it.effect("does not find an agent of another organization or project, a deleted or an unknown one", () =>
    Effect.gen(function* () {
      const { find } = yield* FilterAgents
      const agents = yield* Agents
      const [mine, theirs] = [yield* owner, yield* owner]
      const { agent } = yield* create(mine)
      const otherOwners = [
        { org_id: theirs.org.id, project_id: null },
        { org_id: theirs.org.id, project_id: theirs.project.id },
        { org_id: theirs.org.id, project_id: mine.project.id },
        { org_id: mine.org.id, project_id: theirs.project.id }
      ]
      for (const otherOwner of otherOwners) expect(yield* find(otherOwner, agent.id)).toEqual(Option.none())
      const own = { org_id: mine.org.id, project_id: null }
      expect(yield* find(own, agent.id + 1_000_000)).toEqual(Option.none())
      yield* agents.remove(mine, agent.public_id)
      expect(yield* find(own, agent.id)).toEqual(Option.none())
    })
  )
})
