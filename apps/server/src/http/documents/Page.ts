import type { Body, Contract, JsonSchema, Operation, Parameter, Response } from "./Contract.ts"
import { resolve } from "./Example.ts"
import { html } from "./Html.ts"
import { script, style } from "./PageStyle.ts"

type Schemas = Contract["components"]["schemas"]

/** Text of the contract as HTML: code between backticks, paragraphs between empty lines. */
const prose = (text: string | undefined): string =>
  text === undefined
    ? ""
    : text
        .split(/\n\s*\n/)
        .map((paragraph) => `<p>${html(paragraph).replace(/`([^`]+)`/g, "<code>$1</code>")}</p>`)
        .join("")

const pretty = (value: unknown): string => `<pre><code>${html(JSON.stringify(value, null, 2))}</code></pre>`

/** A short description of a type: `integer, 1 to 100`. */
const typeOf = (schema: JsonSchema, schemas: Schemas): string => {
  const { anyOf, enum: allowed, format, items, maxItems, maximum, maxLength, minimum, type } = resolve(schema, schemas)
  const one = anyOf ?? resolve(schema, schemas).oneOf
  if (one !== undefined) return one.map((each) => typeOf(each, schemas)).join(" or ")
  if (allowed !== undefined) return allowed.map((value) => JSON.stringify(value)).join(" | ")
  if (items !== undefined) {
    return `array of ${typeOf(items, schemas)}${maxItems === undefined ? "" : `, at most ${maxItems}`}`
  }
  const range =
    minimum === undefined ? "" : maximum === undefined ? `, at least ${minimum}` : `, ${minimum} to ${maximum}`
  const length = maxLength === undefined ? "" : `, at most ${maxLength} characters`
  return `${type ?? "any JSON"}${format === undefined ? "" : ` (${format})`}${range}${length}`
}

/** The object whose fields are worth listing below a field: itself, an array's items, or the one beside null. */
const innerOf = (schema: JsonSchema, schemas: Schemas): JsonSchema | undefined => {
  const { anyOf, items, properties } = resolve(schema, schemas)
  if (properties !== undefined) return Object.keys(properties).length > 0 ? resolve(schema, schemas) : undefined
  const below = items ?? anyOf?.find(({ type }) => type !== "null")
  return below === undefined ? undefined : innerOf(below, schemas)
}

/** Deepest nesting of fields that is listed. */
const maxDepth = 4

const rowsOf = (schema: JsonSchema, schemas: Schemas, before = "", depth = 1): string =>
  Object.entries(schema.properties ?? {})
    .map(([name, field]) => {
      const path = `${before}${name}`
      const resolved = resolve(field, schemas)
      const initial = resolved.default === undefined ? "" : `, default ${JSON.stringify(resolved.default)}`
      const optional = schema.required?.includes(name) === true ? "" : ", optional"
      const inner = depth < maxDepth ? innerOf(field, schemas) : undefined
      const nested = inner === undefined ? "" : rowsOf(inner, schemas, `${path}.`, depth + 1)
      return `<tr><td><code>${html(path)}</code></td><td><span class="faint">${html(
        typeOf(field, schemas) + optional + initial
      )}</span>${prose(field.description ?? resolved.description)}</td></tr>${nested}`
    })
    .join("")

const fields = (schema: JsonSchema, schemas: Schemas): string => {
  const inner = innerOf(schema, schemas)
  return inner === undefined ? "" : `<table>${rowsOf(inner, schemas)}</table>`
}

const parameterRow = ({ description, in: where, name, required, schema }: Parameter, schemas: Schemas): string => {
  const initial = schema.default === undefined ? "" : `, default ${JSON.stringify(schema.default)}`
  const about = `${where}, ${typeOf(schema, schemas)}${required ? "" : ", optional"}${initial}`
  return `<tr><td><code>${html(name)}</code></td><td><span class="faint">${html(about)}</span>${prose(
    description ?? resolve(schema, schemas).description
  )}</td></tr>`
}

const bodyOf = ({ example, schema }: Body, schemas: Schemas): string =>
  `${fields(schema, schemas)}${example === undefined ? "" : pretty(example)}`

const responseOf = (status: string, { content, description, headers }: Response, schemas: Schemas): string => {
  const body = content?.["application/json"]
  const codes = body?.examples === undefined ? "Success" : Object.keys(body.examples).join(", ")
  const event = content?.["text/event-stream"]
  const events =
    event === undefined
      ? ""
      : `<p>As <code>text/event-stream</code>, the <code>data</code> of one event:</p>${bodyOf(event, schemas)}`
  const sent = Object.keys(headers ?? {})
  const names = sent.map((name) => `<code>${html(name)}</code>`).join(" ")
  const shown =
    body?.examples === undefined ? (body === undefined ? "<p>No body.</p>" : bodyOf(body, schemas)) : prose(description)
  return `<details${body?.examples === undefined ? " open" : ""}><summary><span class="status">${html(status)}</span>${html(codes)}</summary>${shown}${events}${
    sent.length === 0 ? "" : `<p class="faint">Headers: ${names}</p>`
  }</details>`
}

const methodOf = (method: string): string =>
  `<span class="method ${html(method)}">${html(method === "delete" ? "DEL" : method.toUpperCase())}</span>`

/** An operation with its method and path. */
interface ListedOperation {
  readonly method: string
  readonly path: string
  readonly operation: Operation
  /** What the search matches, in lower case. */
  readonly words: string
}

const article = ({ method, operation, path, words }: ListedOperation, schemas: Schemas): string => {
  const { description, operationId, parameters, requestBody, responses, summary } = operation
  const body = requestBody?.content["application/json"]
  return `<article id="${html(operationId)}" data-words="${html(words)}"><h3>${html(summary ?? operationId)}</h3>
<p class="route">${methodOf(method)} ${html(path)}</p>${prose(description)}
<h4>Parameters</h4><table>${parameters.map((each) => parameterRow(each, schemas)).join("")}</table>
${body === undefined ? "" : `<h4>Body</h4>${bodyOf(body, schemas)}`}
<h4>Responses</h4>${Object.entries(responses)
    .map(([status, response]) => responseOf(status, response, schemas))
    .join("")}</article>`
}

const listOperations = (contract: Contract): ReadonlyArray<ListedOperation> =>
  Object.entries(contract.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => {
      const codes = Object.values(operation.responses).flatMap(({ content }) =>
        Object.keys(content?.["application/json"].examples ?? {})
      )
      const { description = "", operationId, summary = "", tags } = operation
      const words = [method, path, operationId, summary, description, ...tags, ...codes].join(" ").toLowerCase()
      return { method, path, operation, words }
    })
  )

/** A link at the top of a page: what it says, and an address relative to the page. */
export type Link = readonly [text: string, href: string]

/** A page on which people read a contract: with everything in it, for both light and dark, searched in place. */
export const render = (contract: Contract, others: ReadonlyArray<Link>): string => {
  const { components, info, servers, tags } = contract
  const all = listOperations(contract)
  const groups = tags.map((tag) => ({ tag, members: all.filter(({ operation }) => operation.tags.includes(tag.name)) }))
  const links = groups.map(
    ({ members, tag }) =>
      `<section data-group><h2>${html(tag.name)}</h2><ul>${members
        .map(
          ({ method, operation, words }) =>
            `<li data-words="${html(words)}"><a href="#${html(operation.operationId)}">${methodOf(method)}<span>${html(
              operation.summary ?? operation.operationId
            )}</span></a></li>`
        )
        .join("")}</ul></section>`
  )
  const sections = groups.map(
    ({ members, tag }) =>
      `<section data-group><h2>${html(tag.name)}</h2>${prose(tag.description)}${members
        .map((member) => article(member, components.schemas))
        .join("")}</section>`
  )
  const base = servers?.[0]?.url
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${html(info.title)}</title><style>${style}</style></head>
<body><nav aria-label="Endpoints"><input id="find" type="search" placeholder="Search ( / )" aria-label="Search endpoints and error codes">
${links.join("\n")}</nav>
<main><h1>${html(info.title)}</h1><p class="faint">Version ${html(info.version)}${
    base === undefined || base === "/" ? "" : ` at <code>${html(base)}</code>`
  }${others.map(([text, href]) => ` · <a href="${html(href)}">${html(text)}</a>`).join("")}</p>${prose(info.description)}<p id="none" hidden>Nothing is found.</p>
${sections.join("\n")}</main><script>${script}</script></body></html>
`
}
