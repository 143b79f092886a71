import { packageOf, type Repository, resolveFrom } from "./Repository.ts"
import type { Violation } from "./Violation.ts"

/** An edge of an import graph, with the place where it is written. */
interface Edge {
  readonly to: string
  readonly file: string
  readonly line: number
}

type Graph = ReadonlyMap<string, ReadonlyArray<Edge>>

/** The edges that close a cycle, each with the cycle's nodes in order; each cycle once. */
const cyclesOf = (graph: Graph): ReadonlyArray<{ readonly edge: Edge; readonly nodes: ReadonlyArray<string> }> => {
  const found: Array<{ readonly edge: Edge; readonly nodes: ReadonlyArray<string> }> = []
  const done = new Set<string>()
  const path: Array<string> = []
  const visit = (node: string): void => {
    path.push(node)
    for (const edge of graph.get(node) ?? []) {
      const start = path.indexOf(edge.to)
      if (start >= 0) found.push({ edge, nodes: [...path.slice(start), edge.to] })
      else if (!done.has(edge.to)) visit(edge.to)
    }
    path.pop()
    done.add(node)
  }
  for (const node of [...graph.keys()].toSorted()) if (!done.has(node)) visit(node)
  return found
}

const violations = (graph: Graph, rule: string): ReadonlyArray<Violation> =>
  cyclesOf(graph).map(({ edge, nodes }) => ({ file: edge.file, line: edge.line, rule, message: nodes.join(" → ") }))

/** Files that load each other in a cycle. Type imports do not count: they are not compiled. */
export const fileCycles = (repository: Repository): ReadonlyArray<Violation> => {
  const files = repository.workspaces.flatMap((workspace) => workspace.files)
  const graph = new Map(
    files.map((file) => [
      file.path,
      file.imports
        .filter(({ kind, specifier }) => kind === "value" && specifier.startsWith("."))
        .map(({ specifier, line }) => ({ to: resolveFrom(file.path, specifier), file: file.path, line }))
    ])
  )
  return violations(graph, "file cycle")
}

/** Packages whose sources import each other in a cycle, by type or by value. */
export const packageCycles = (repository: Repository): ReadonlyArray<Violation> => {
  const names = new Set(repository.workspaces.map((workspace) => workspace.manifest.name))
  const graph = new Map(
    repository.workspaces.map((workspace) => [
      workspace.manifest.name,
      workspace.files
        .filter((file) => file.area === "source")
        .flatMap((file) =>
          file.imports.flatMap(({ specifier, line }) => {
            const to = packageOf(specifier)
            return to !== undefined && names.has(to) && to !== workspace.manifest.name
              ? [{ to, file: file.path, line }]
              : []
          })
        )
    ])
  )
  return violations(graph, "package cycle")
}
