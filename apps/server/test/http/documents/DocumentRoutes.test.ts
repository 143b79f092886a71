import { createHash } from "node:crypto"
import { gunzipSync } from "node:zlib"
import { HttpApi } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { Validator } from "@seriousme/openapi-schema-validator"
import { RouteRegistry } from "@svc/api/PlainRoutes"
import { VoiceApi } from "@svc/api/VoiceApi"
import { WorkspaceApi } from "@svc/api/WorkspaceApi"
import { workspaceErrors } from "@svc/api/WorkspaceError"
import { Context, Effect, Either, Layer, Option, SchemaAST } from "effect"
import type { JsonSchema, Operation } from "../../../src/http/documents/Contract.ts"
import { describe as describeContract } from "../../../src/http/documents/Description.ts"
import { documentRoutes, prepareDocuments } from "../../../src/http/documents/DocumentRoutes.ts"
import { render } from "../../../src/http/documents/ReferencePage.ts"
import { readScript, release } from "../../../src/http/documents/Scalar.ts"
import { voice } from "../../../src/http/documents/VoiceConventions.ts"
import { workspace } from "../../../src/http/documents/WorkspaceConventions.ts"
import { endpointsOf } from "../../../src/http/routing/Endpoint.ts"
import { ask } from "../../servers/Client.ts"
import { startTiny, TinyApi } from "../../servers/TinyServer.ts"

const contract = describeContract(VoiceApi, "https://voice.example.com", voice)

/** An endpoint as the document has it. */
const operationOf = ({ method, path }: { readonly method: string; readonly path: string }): Operation | undefined =>
  contract.paths[path.replace(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()]

const endpoints = endpointsOf(VoiceApi).flatMap(({ endpoint }) => (Either.isRight(endpoint) ? [endpoint.right] : []))

const codesOf = (operation: Operation | undefined): ReadonlyArray<string> =>
  Object.values(operation?.responses ?? {}).flatMap(({ content }) =>
    Object.keys(content?.["application/json"].examples ?? {})
  )

/** The codes of an error schema, or of several. */
const codesIn = (ast: SchemaAST.AST): ReadonlyArray<string> => {
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap(codesIn)
  const code = SchemaAST.isTypeLiteral(ast) ? ast.propertySignatures.find(({ name }) => name === "code") : undefined
  return code !== undefined && SchemaAST.isLiteral(code.type) ? [String(code.type.literal)] : []
}

const queryTypes = (path: string): { readonly [name: string]: JsonSchema } =>
  Object.fromEntries(
    (contract.paths[path]?.["get"]?.parameters ?? [])
      .filter((parameter) => parameter.in === "query")
      .map(({ name, schema }) => [name, schema])
  )

describe("the OpenAPI document", () => {
  it.effect("is valid", () =>
    Effect.gen(function* () {
      const workspaceContract = describeContract(WorkspaceApi, "/api/workspace/v1", workspace)
      for (const made of [contract, describeContract(TinyApi, "/", voice), workspaceContract]) {
        const document = JSON.parse(JSON.stringify(made))
        const result = yield* Effect.promise(() => new Validator().validate(document))
        expect(result.errors ?? []).toEqual([])
        expect(result.valid).toBe(true)
      }
    })
  )

  it("has every endpoint, with a summary and a group that is described", () => {
    expect(endpoints.length).toBe(endpointsOf(VoiceApi).length)
    for (const endpoint of endpoints) {
      const operation = operationOf(endpoint)
      expect(operation?.operationId).toBe(endpoint.name)
      expect(operation?.summary, endpoint.name).toMatch(/^[A-Z]/)
      expect(Object.keys(operation?.responses ?? {})).toContain(String(endpoint.status))
    }
    for (const { description, name } of contract.tags) expect(description, name).toMatch(/^[A-Z]/)
    const count = Object.values(contract.paths).flatMap((item) => Object.keys(item)).length
    expect(count).toBe(endpoints.length)
  })

  it("has every error that an endpoint declares, under its status and code", () => {
    let seen = 0
    HttpApi.reflect(VoiceApi, {
      onGroup: () => {},
      onEndpoint: ({ endpoint, errors, group }) => {
        for (const [status, { ast }] of errors) {
          for (const code of Option.isSome(ast) ? codesIn(ast.value) : []) {
            const response = operationOf(endpoint)?.responses[String(status)]
            const documented = Object.keys(response?.content?.["application/json"].examples ?? {})
            expect(documented, `${group.identifier}.${endpoint.name} ${status}`).toContain(code)
            expect(response?.description).toContain(code)
            seen++
          }
        }
      }
    })
    expect(seen).toBeGreaterThan(endpoints.length * 4)
  })

  it("has the errors of the server's own checks exactly where they apply", () => {
    const codes = (method: string, path: string) => codesOf(operationOf({ method, path }))
    const everywhere = [
      "MISSING_API_KEY",
      "INVALID_API_KEY",
      "RATE_LIMIT_EXCEEDED",
      "AUTH_RATE_LIMITED",
      "REQUEST_TOO_LARGE",
      "INTERNAL_ERROR",
      "UNAVAILABLE"
    ]
    for (const endpoint of endpoints) {
      expect(codesOf(operationOf(endpoint)), endpoint.name).toEqual(expect.arrayContaining(everywhere))
    }
    const create = ["INVALID_JSON", "INSUFFICIENT_CREDITS", "READ_ONLY_KEY", "PROJECT_ID_REQUIRED", "PROJECT_NOT_FOUND"]
    expect(codes("POST", "/v1/agents")).toEqual(expect.arrayContaining(create))
    expect(codes("POST", "/v1/agents")).not.toContain("ORG_KEY_REQUIRED")
    expect(codes("POST", "/v1/calls/:callId/end")).not.toContain("INSUFFICIENT_CREDITS")
    expect(codes("GET", "/v1/agents")).not.toContain("READ_ONLY_KEY")
    expect(codes("GET", "/v1/health")).not.toContain("PROJECT_ID_REQUIRED")
    expect(codes("GET", "/v1/org")).toContain("ORG_KEY_REQUIRED")
    expect(codes("GET", "/v1/org")).not.toContain("PROJECT_NOT_FOUND")
  })

  it("types its parameters, with defaults and limits", () => {
    const limit = (most: number, initial: number) => ({ type: "integer", minimum: 1, maximum: most, default: initial })
    expect(queryTypes("/v1/agents")["limit"]).toEqual(limit(100, 20))
    expect(queryTypes("/v1/calls")["limit"]).toEqual(limit(100, 50))
    expect(queryTypes("/v1/org/projects")["offset"]).toEqual({ type: "integer", minimum: 0, default: 0 })
    expect(queryTypes("/v1/calls")["from_date"]).toEqual({ type: "string", format: "date" })
    expect(queryTypes("/v1/calls")["status"]?.enum).toContain("in-progress")
    const path = operationOf({ method: "GET", path: "/v1/agents/:agentId" })?.parameters[0]
    expect(path).toMatchObject({ name: "agentId", in: "path", required: true, schema: { type: "string" } })
  })

  it("has the defaults and limits of fields in bodies", () => {
    const field = (schema: string, name: string) => contract.components.schemas[schema]?.properties?.[name]
    expect(field("AgentCreate", "name")).toEqual({ type: "string", minLength: 1, maxLength: 200 })
    expect(field("AgentCreate", "voice")?.default).toBe("Sarah")
    expect(field("AgentCreate", "max_duration")).toMatchObject({ type: "integer", default: 1800 })
    expect(field("AgentUpdate", "voice")?.default).toBeUndefined()
    const seconds = { type: "integer", minimum: 5, maximum: 120, default: 30 }
    expect(field("PlaceCallRequest", "ring_timeout_seconds")).toMatchObject(seconds)
    expect(field("AnswerMatchRequest", "threshold")).toMatchObject({ minimum: 0, maximum: 1, default: 0.8 })
  })

  it("has an example of every id in a path, and of every request in TypeScript", () => {
    for (const endpoint of endpoints) {
      const operation = operationOf(endpoint)
      const inPath = (operation?.parameters ?? []).filter((parameter) => parameter.in === "path")
      expect(inPath.filter(({ example }) => example === undefined)).toEqual([])
      const source = operation?.["x-codeSamples"]?.[0]?.source ?? ""
      expect(source).toContain('await fetch("https://voice.example.com/v1/')
      expect(source).not.toMatch(/[{]\w+[}]"/)
      expect(source.includes("body:")).toBe(endpoint.takesBody)
    }
  })

  it("declares both security schemes and the response headers", () => {
    expect(contract.components.securitySchemes).toEqual({
      bearer: { type: "http", scheme: "bearer" },
      apiKey: { type: "apiKey", name: "X-Api-Key", in: "header" }
    })
    for (const endpoint of endpoints) {
      const operation = operationOf(endpoint)
      expect(operation?.security).toEqual([{ bearer: [] }, { apiKey: [] }])
      for (const [status, { headers }] of Object.entries(operation?.responses ?? {})) {
        expect(Object.keys(headers ?? {})).toContain("X-Request-Id")
        if (status === "429") expect(Object.keys(headers ?? {})).toContain("Retry-After")
        if (Number(status) < 400) expect(Object.keys(headers ?? {})).toContain("X-RateLimit-Remaining")
      }
    }
    expect(contract.servers).toEqual([{ url: "https://voice.example.com" }])
  })

  it("has example bodies that match their schemas", () => {
    for (const endpoint of endpoints) {
      const operation = operationOf(endpoint)
      const body = operation?.requestBody?.content["application/json"].example
      if (endpoint.takesBody) expect(endpoint.decodeBody(body), endpoint.name).toEqual(Either.right(expect.anything()))
      const success = operation?.responses[String(endpoint.status)]?.content?.["application/json"].example
      if (endpoint.empty) expect(success).toBeUndefined()
      else
        expect(Either.isRight(endpoint.checkSuccess(success)), `${endpoint.name} ${JSON.stringify(success)}`).toBe(true)
    }
  })

  it("has OpenAI's error object at the chat endpoints alone, and their stream of events", () => {
    const complete = operationOf({ method: "POST", path: "/v1/chat/completions" })
    const success = complete?.responses["200"]?.content
    expect(success?.["application/json"].schema).toEqual({ $ref: "#/components/schemas/ChatCompletion" })
    expect(success?.["text/event-stream"]?.schema).toEqual({ $ref: "#/components/schemas/ChatCompletionChunk" })
    expect(success?.["text/event-stream"]?.example).toMatchObject({ object: "chat.completion.chunk" })
    const { examples = {}, schemas } = contract.components
    expect(Object.keys(schemas["ChatCompletionChunk"]?.properties ?? {})).toContain("choices")
    let seen = 0
    for (const [path, item] of Object.entries(contract.paths)) {
      for (const { operationId, responses } of Object.values(item)) {
        for (const [status, { content }] of Object.entries(responses)) {
          const body = content?.["application/json"]
          if (Number(status) < 400 || body === undefined) continue
          for (const { $ref = "" } of body.schema.anyOf ?? [body.schema]) {
            const error = schemas[$ref.slice("#/components/schemas/".length)]?.properties?.["error"]
            const isChat = /^\/v1\/(chat|models)/.test(path)
            expect(error, `${operationId} ${$ref}`).toEqual(
              isChat ? { $ref: "#/components/schemas/ChatErrorObject" } : { type: "string" }
            )
            if (isChat) seen++
          }
          for (const [code, { $ref }] of Object.entries(body.examples ?? {})) {
            const example = examples[$ref.slice("#/components/examples/".length)]?.value
            expect(example, `${operationId} ${code}`).toMatchObject({ code })
          }
        }
      }
    }
    expect(seen).toBeGreaterThan(20)
    const { code, message, param, type } = schemas["ChatErrorObject"]?.properties ?? {}
    expect([code?.type, message?.type, type?.enum?.length]).toEqual(["string", "string", 6])
    expect(param?.anyOf).toEqual([{ type: "string" }, { type: "null" }])
    expect(examples["Chat.AI_CONCURRENT_LIMIT_EXCEEDED"]?.value).toMatchObject({
      code: "AI_CONCURRENT_LIMIT_EXCEEDED",
      error: { type: "rate_limit_error", code: "AI_CONCURRENT_LIMIT_EXCEEDED", param: null }
    })
  })

  it("does not name internal types", () => {
    const text = JSON.stringify(contract)
    expect(text).not.toMatch(/HttpApi|Schema(?!s)[A-Z]|@svc|@effect|NonEmpty|\bEffect\b|"(an?|a) [a-z]/)
    expect(text).not.toMatch(/"title":"(int|minLength|maxLength|pattern|between)/)
    expect(Object.keys(contract.components.schemas)).not.toContain("Int")
  })
})

describe("the workspace API's document", () => {
  const made = describeContract(WorkspaceApi, "https://voice.example.com/api/workspace/v1", workspace)

  it("has the API's address and its security scheme", () => {
    expect(made.info.title).toBe("Svc workspace API")
    expect(made.info.description).toContain("Idempotency-Key")
    expect(made.servers).toEqual([{ url: "https://voice.example.com/api/workspace/v1" }])
    expect(made.security).toEqual([{ bearer: [] }])
    expect(made.components.securitySchemes).toEqual({
      bearer: { type: "http", scheme: "bearer", description: expect.stringContaining("svc_wsp_live_") }
    })
  })

  it("has every endpoint with the scope that it requires", () => {
    const scopes = Object.entries(made.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { description, summary }]) => {
        expect(summary).toBeTruthy()
        return `${method} ${path} ${/`(bookings[.\w]+)`\.$/.exec(description ?? "")?.[1]}`
      })
    )
    expect(scopes.sort()).toEqual([
      "delete /bookings/customers/{customerId} bookings.customers.delete",
      "get /bookings/customers bookings.customers.read",
      "get /bookings/customers/{customerId} bookings.customers.read",
      "patch /bookings/customers/{customerId} bookings.customers.write",
      "post /bookings/customers bookings.customers.write",
      "post /bookings/customers/bulk-delete bookings.customers.delete",
      "post /bookings/customers/{customerId}/anonymize bookings.customers.delete",
      "post /bookings/customers/{customerId}/restore bookings.customers.delete"
    ])
  })

  it("lists the error codes of each endpoint, each with an example body", () => {
    const create = made.paths["/bookings/customers"]?.["post"]
    expect([...codesOf(create)].sort()).toEqual([
      "AUTH_RATE_LIMITED",
      "IDEMPOTENCY_KEY_CONFLICT",
      "IDEMPOTENCY_KEY_QUOTA_EXCEEDED",
      "IDEMPOTENCY_KEY_TOO_LONG",
      "INTERNAL",
      "INVALID_API_KEY",
      "PAYG_LIMIT",
      "RATE_LIMITED",
      "REQUEST_TOO_LARGE",
      "SCOPE_INSUFFICIENT",
      "VALIDATION_ERROR"
    ])
    expect(made.components.examples?.["PAYG_LIMIT"]?.value).toMatchObject({
      error: { type: "permission_denied", code: "PAYG_LIMIT" },
      meta: { request_id: expect.any(String) }
    })
    expect(codesOf(made.paths["/bookings/customers"]?.["get"])).not.toContain("IDEMPOTENCY_KEY_CONFLICT")
    expect(create?.parameters.map(({ name }) => name)).toEqual(["Idempotency-Key", "X-Request-Id"])
  })

  it("has the schema of error bodies with every code", () => {
    const { properties, required } = made.components.schemas["Error"] ?? {}
    expect(required).toEqual(["error", "meta"])
    expect(properties?.["error"]?.required).toEqual(["type", "code", "message"])
    expect(Object.keys(properties?.["error"]?.properties ?? {})).toEqual(["type", "code", "message", "param", "issues"])
    expect(properties?.["error"]?.properties?.["code"]?.enum).toEqual(Object.keys(workspaceErrors))
    expect(Object.keys(workspaceErrors)).toHaveLength(15)
    expect(properties?.["meta"]?.required).toEqual(["request_id"])
  })

  it.scoped("is served by its own name, at the address of the server", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const { headers, text } = yield* ask(port, { path: "/openapi.workspace.json" })
      expect(headers["content-type"]).toBe("application/json")
      const { info, servers } = JSON.parse(text)
      expect(info.title).toBe("Svc workspace API")
      expect(servers).toEqual([{ url: expect.stringMatching(/\/api\/workspace\/v1$/) }])
    })
  )
})

describe("the reference pages", () => {
  const pages = ["/docs", "/docs/workspace"]

  it.scoped("load Scalar's script and the OpenAPI document from this server, and allow no other host", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      for (const path of pages) {
        const { headers, status, text } = yield* ask(port, { path })
        expect(status).toBe(200)
        expect(headers["content-type"]).toBe("text/html; charset=utf-8")
        const policy = String(headers["content-security-policy"])
        const inline = /<script>([\s\S]*)<\/script>/.exec(text)?.[1] ?? ""
        const hash = createHash("sha256").update(inline).digest("base64")
        expect(policy.split("; ")).toEqual([
          "default-src 'none'",
          `script-src 'self' 'sha256-${hash}'`,
          "style-src 'unsafe-inline'",
          "img-src 'self' data:",
          "connect-src 'self'",
          "base-uri 'none'",
          "form-action 'none'",
          "frame-ancestors 'none'"
        ])
        const links = [...text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link]) => link ?? "")
        expect(links.filter((link) => !link.startsWith("/"))).toEqual(["data:,"])
        for (const link of links.filter((each) => /scalar|openapi/.test(each))) {
          expect((yield* ask(port, { path: link })).status, link).toBe(200)
        }
        expect(inline).toContain('"telemetry":false')
        expect(inline).toContain('"withDefaultFonts":false')
        expect(inline).toContain('"persistAuth":false')
      }
    })
  )

  it("escape what is written into their script", () => {
    const page = render({ title: "</title>", document: "</script><b>", base: "/", script: "/x.js" })
    expect(page).not.toContain("</script><b>")
    expect(page).toContain("<title>&lt;/title&gt;</title>")
  })

  it.scoped("have the script of the recorded release, which browsers keep", () =>
    Effect.gen(function* () {
      expect(release.version).toMatch(/^\d+\.\d+\.\d+$/)
      expect(release.integrity).toMatch(/^sha512-/)
      const script = gunzipSync(readScript())
      expect(createHash("sha256").update(script).digest("hex")).toBe(release.sha256)
      const { port } = yield* startTiny()
      const sent = yield* ask(port, {
        path: "/docs/scalar.js",
        headers: { "accept-encoding": "br, gzip" },
        method: "HEAD"
      })
      expect(sent.headers).toMatchObject({
        "cache-control": "public, max-age=31536000, immutable",
        "content-encoding": "gzip",
        "content-length": String(readScript().length)
      })
      // Less than the 3 MB that a page may cost.
      expect(readScript().length).toBeLessThan(3_000_000)
    })
  )
})

describe("the documents", () => {
  it.scoped("need no key, and are a 304 for a client that has them, compressed or not", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      for (const path of ["/openapi.json", "/openapi.workspace.json", "/docs", "/docs/workspace", "/docs/scalar.js"]) {
        const etags = new Set<string>()
        for (const encoding of ["identity", "gzip;q=0", "gzip"]) {
          const accepts = { "accept-encoding": encoding }
          const first = yield* ask(port, { path, headers: accepts })
          expect(first.status).toBe(200)
          expect(first.headers["content-encoding"]).toBe(encoding === "gzip" ? "gzip" : undefined)
          expect(first.headers.vary).toBe("Accept-Encoding")
          const etag = String(first.headers.etag)
          etags.add(etag)
          expect(etag).toMatch(/^"[\w-]{27}"$/)
          for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
            const again = yield* ask(port, { path, headers: { ...accepts, "if-none-match": known } })
            expect(again).toMatchObject({ status: 304, text: "" })
            expect(again.headers.etag).toBe(etag)
          }
          const changed = yield* ask(port, { path, headers: { ...accepts, "if-none-match": `"other"` } })
          expect(changed).toMatchObject({ status: 200, text: first.text })
          const head = yield* ask(port, { path, method: "HEAD", headers: accepts })
          expect(head).toMatchObject({ status: 200, text: "" })
          expect(head.headers["content-length"]).toBe(first.headers["content-length"])
        }
        expect(etags.size).toBe(2)
        expect((yield* ask(port, { path, body: "{}" })).status).toBe(405)
      }
    })
  )

  it.scoped("are made before the server starts: a request only sends them", () =>
    Effect.gen(function* () {
      let reads = 0
      const api = new Proxy(TinyApi, {
        get: (target, key) => {
          reads += 1
          return Reflect.get(target, key)
        }
      })
      yield* prepareDocuments(api)
      expect(reads).toBeGreaterThan(0)
      const prepared = reads
      const registry = yield* Layer.build(documentRoutes(api).pipe(Layer.provideMerge(RouteRegistry.layer)))
      const routes = yield* Context.get(registry, RouteRegistry).all
      const route = routes.find(({ path }) => path === "/openapi.json")
      const { body } = yield* route?.handle({
        method: "GET",
        path: "/openapi.json",
        params: {},
        query: new URLSearchParams(),
        headers: {},
        address: "127.0.0.1",
        body: Effect.succeed(new Uint8Array())
      }) ?? Effect.dieMessage("there is no route")
      expect(JSON.parse(String(body))).toEqual(JSON.parse(JSON.stringify(describeContract(TinyApi, "/", voice))))
      expect(reads).toBe(prepared)
    })
  )
})
