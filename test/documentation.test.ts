import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { HttpApi, OpenApi } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { callStartedFields, preGatherFields, ToolDefinition, toolGatherFields } from "@svc/api/callbacks/CallStarted"
import { eventData } from "@svc/api/events/Event"
import { VoiceApi } from "@svc/api/VoiceApi"
import { WorkspaceApi } from "@svc/api/WorkspaceApi"
import { workspaceErrors } from "@svc/api/WorkspaceError"
import { readSourceTree } from "./src/architecture/SourceTree.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const reference = `${root}docs/reference/`
const page = (name: string): string => readFileSync(reference + name, "utf8")
const pages = readdirSync(reference).map(page).join("\n")

/** Path parameters as the reference writes them. */
const withIds = (text: string): string => text.replace(/:\w+|<\w+>/g, "<id>")

const endpointsOf = (api: HttpApi.HttpApi.Any): ReadonlyArray<string> => {
  const found: Array<string> = []
  // `Any` is the type of every API; `reflect` reads only what each has.
  HttpApi.reflect(api as HttpApi.HttpApi.AnyWithProps, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => void found.push(`${endpoint.method} ${withIds(endpoint.path)}`)
  })
  return found
}

/** The names of properties in a JSON Schema, or in a document with many. */
const propertiesIn = (value: unknown): ReadonlyArray<string> => {
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(key === "properties" && typeof inner === "object" && inner !== null ? Object.keys(inner) : []),
    ...propertiesIn(inner)
  ])
}

/** The matches of a pattern's first group in the sources of packages and apps. */
const inSources = (pattern: RegExp, folder = ""): ReadonlyArray<string> => {
  const sources = [...readSourceTree(root)].filter(
    ([path]) => path.startsWith(folder) && /^(packages|apps|simulator)\/(.*\/)?src\/.*\.tsx?$/.test(path)
  )
  const found = sources.flatMap(([, text]) => [...text.matchAll(pattern)].flatMap(([, match]) => match ?? []))
  return [...new Set(found)].toSorted()
}

describe("docs/reference", () => {
  it("has a row for every endpoint of both APIs", () => {
    const text = withIds(pages)
    const endpoints = [...endpointsOf(VoiceApi), ...endpointsOf(WorkspaceApi)]
    // The second path set is documented in one sentence.
    const own = endpoints.filter((endpoint) => !endpoint.includes(" /v1/projects"))
    expect(own.length).toBeGreaterThan(60)
    expect(own.filter((endpoint) => !text.includes(`\`${endpoint}\``))).toEqual([])
  })

  it("names every field of requests, responses, events and answers of the agent's server", () => {
    const words = new Set(pages.match(/\w+/g))
    const ofAnswers = [callStartedFields, preGatherFields, toolGatherFields, ToolDefinition.fields].flatMap(Object.keys)
    const ofEvents = Object.values<{ readonly fields: object }>(eventData).flatMap(({ fields }) => Object.keys(fields))
    const fields = new Set([
      ...propertiesIn([OpenApi.fromApi(VoiceApi), OpenApi.fromApi(WorkspaceApi)]),
      ...ofAnswers,
      ...ofEvents
    ])
    // The OpenAPI library declares errors of its own, which have it.
    fields.delete("_tag")
    expect(fields.size).toBeGreaterThan(200)
    expect([...fields].filter((field) => !words.has(field))).toEqual([])
  })

  it("names every event in events.md", () => {
    const text = page("events.md")
    expect(Object.keys(eventData).filter((event) => !text.includes(`\`${event}\``))).toEqual([])
  })

  it("names every error code of the voice API in conventions.md, and of the workspace API in workspace.md", () => {
    // An organization that is not found is an error of the command line only.
    const codes = inSources(/"([A-Z]+(?:_[A-Z]+)+)",\s*\d{3}/g, "packages/api/").filter(
      (code) => code !== "ORGANIZATION_NOT_FOUND"
    )
    expect(codes.length).toBeGreaterThan(30)
    expect(codes.filter((code) => !page("conventions.md").includes(`\`${code}\``))).toEqual([])
    expect(Object.keys(workspaceErrors).filter((code) => !page("workspace.md").includes(`\`${code}\``))).toEqual([])
  })

  it("names every variable in administration.md", () => {
    const internal = /^SVC_(TEST_|BLOCKED_ADDRESS)/
    const variables = inSources(/"(SVC_[A-Z_]*[A-Z])"/g).filter((name) => !internal.test(name))
    expect(variables.length).toBeGreaterThan(30)
    expect(variables.filter((name) => !page("administration.md").includes(`\`${name}\``))).toEqual([])
  })
})
