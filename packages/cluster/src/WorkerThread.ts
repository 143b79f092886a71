import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
import { Worker, type WorkerOptions } from "node:worker_threads"

/**
 * Starts a worker thread, which does not keep the process alive. `program` is its file relative to that of `importer`
 * (`import.meta.url`), without an extension. In a checkout the file is TypeScript, and threads do not inherit the loader
 * of the process, so the thread registers it first.
 */
export const startWorkerThread = (importer: string, program: string, options: WorkerOptions = {}): Worker => {
  const start = (): Worker => {
    if (!importer.endsWith(".ts")) return new Worker(new URL(`${program}.js`, importer), options)
    const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx"))
    const api = new URL("./esm/api/index.mjs", loader)
    const source = new URL(`${program}.ts`, importer)
    const text = `import(${JSON.stringify(api)}).then((tsx) => { tsx.register(); return import(${JSON.stringify(source)}) })`
    return new Worker(text, { ...options, eval: true })
  }
  const worker = start()
  worker.unref()
  return worker
}
