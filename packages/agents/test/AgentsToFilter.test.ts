import { expect, layer } from "@effect/vitest"
import { FilterAgents } from "@svc/webhooks/FilterAgents"
import { Effect, Option } from "effect"
import { Agents } from "../src/Agents.ts"
import { create, owner, Test } from "./Fixture.ts"

layer(Test)("an agent that a webhook is to be limited to", (it) => {
  it.effect("is found by its organization, and by its own project", () =>
    Effect.gen(function* () {
      const { find } = yield* FilterAgents
      const by = yield* owner
      const { agent } = yield* create(by)
      for (const project_id of [null, by.project.id]) {
        expect(yield* find({ org_id: by.org.id, project_id }, agent.id)).toEqual(Option.some(agent.public_id))
      }
    })
  )

  it.effect("is not found when it is another's, of another project, deleted or unknown", () =>
    Effect.gen(function* () {
      const { find } = yield* FilterAgents
      const agents = yield* Agents
      const [mine, theirs] = [yield* owner, yield* owner]
      const { agent } = yield* create(mine)
      const strangers = [
        { org_id: theirs.org.id, project_id: null },
        { org_id: theirs.org.id, project_id: theirs.project.id },
        { org_id: theirs.org.id, project_id: mine.project.id },
        { org_id: mine.org.id, project_id: theirs.project.id }
      ]
      for (const stranger of strangers) expect(yield* find(stranger, agent.id)).toEqual(Option.none())
      const own = { org_id: mine.org.id, project_id: null }
      expect(yield* find(own, agent.id + 1_000_000)).toEqual(Option.none())
      yield* agents.remove(mine, agent.public_id)
      expect(yield* find(own, agent.id)).toEqual(Option.none())
    })
  )
})
