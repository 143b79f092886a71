import { SqlClient } from "@effect/sql"
import { describe, expect, expectTypeOf, it, layer } from "@effect/vitest"
import { OrgProject, ProjectCreate, ProjectUpdate, Project as WireProject } from "@svc/api/accounts/Project"
import { Effect, Schema, Struct } from "effect"
import { NewProject, Project, ProjectChange } from "../src/Project.ts"
import { Projects } from "../src/Projects.ts"
import { toOrgProject, toProject } from "../src/ProjectWire.ts"
import { account, Test } from "./Account.ts"

const keysOf = (schema: { readonly fields: object }) => Object.keys(schema.fields)
const settings = ["name", "description"] as const
type Setting = (typeof settings)[number]

describe("the list of a project's fields", () => {
  it("gives both bodies and the columns that change the name and the description, and nothing else", () => {
    for (const schema of [ProjectCreate, ProjectUpdate, ProjectChange]) expect(keysOf(schema)).toEqual(settings)
    expectTypeOf<typeof ProjectUpdate.Type>().toEqualTypeOf<ProjectChange>()
    expectTypeOf<Pick<typeof NewProject.Type, Setting>>().toEqualTypeOf<typeof ProjectCreate.Type>()
    expectTypeOf<Pick<WireProject, Setting>>().toEqualTypeOf<Pick<Project, Setting>>()
  })

  it("shows public_id as id, and org_id in no response", () => {
    expect(keysOf(Project).filter((key) => !keysOf(WireProject).includes(key))).toEqual(["public_id", "org_id"])
    expect(keysOf(NewProject)).toEqual(["public_id", "org_id", ...settings])
  })
})

layer(Test)("a project with its list of fields", (it) => {
  it.effect("has a column for every field of the row, and deleted_at, which only the database uses", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = yield* sql<{ readonly name: string }>`
        select column_name as name from information_schema.columns
        where table_schema = current_schema() and table_name = 'projects'`
      expect(columns.map(({ name }) => name).toSorted()).toEqual([...keysOf(Project), "deleted_at"].toSorted())
    })
  )

  it.effect(
    "answers with exactly the fields of the response, in their order, to its own keys and its organization's",
    () =>
      Effect.gen(function* () {
        const { project } = yield* account
        expect(Object.keys(toProject(project))).toEqual(keysOf(WireProject))
        expect(Object.keys(toOrgProject(project))).toEqual(keysOf(OrgProject))
        const strict = { onExcessProperty: "error" } as const
        yield* Schema.validate(WireProject, strict)(toProject(project))
        yield* Schema.validate(OrgProject, strict)(toOrgProject(project))
      })
  )

  it.effect("changes the given fields of name and description, and no other", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const { project } = yield* account
      const described = yield* projects.update(project.id, { description: "x" })
      expect(described).toEqual({ ...project, description: "x", updated_at: described.updated_at })
      const renamed = yield* projects.update(project.id, { name: "Other", description: undefined })
      expect(renamed).toEqual({ ...described, name: "Other", updated_at: renamed.updated_at })
      const cleared = yield* projects.update(project.id, { description: null })
      expect(Struct.pick(cleared, ...settings)).toEqual({ name: "Other", description: null })
      for (const empty of [{}, { name: undefined, description: undefined }]) {
        expect((yield* Effect.flip(projects.update(project.id, empty)))._tag).toBe("BadRequest")
      }
    })
  )
})
