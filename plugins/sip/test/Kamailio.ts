import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"

/** Whether the SIP server is installed. */
export const isInstalled = spawnSync("kamailio", ["-v"]).error === undefined

export interface ProxyOptions {
  /** Such as `udp:127.0.0.3:5060`. */
  readonly listen: string
  /** Further lines: global parameters, before the modules. */
  readonly globals?: ReadonlyArray<string>
  /** Further modules, and their parameters. */
  readonly modules?: ReadonlyArray<string>
  /** What is done with a request outside of a dialog before it is passed on, such as a challenge. */
  readonly before?: ReadonlyArray<string>
  /** Sets where it is passed on to. */
  readonly destination: string
}

/** The configuration of a proxy that stays in the route of the dialogs. */
export const proxy = ({ before = [], destination, globals = [], listen, modules = [] }: ProxyOptions): string =>
  [
    "#!KAMAILIO",
    "debug=0",
    "log_stderror=yes",
    "children=1",
    "auto_aliases=no",
    ...globals,
    `listen=${listen}`,
    'loadmodule "tm.so"',
    'loadmodule "sl.so"',
    'loadmodule "rr.so"',
    'loadmodule "pv.so"',
    'loadmodule "textops.so"',
    'loadmodule "siputils.so"',
    ...modules,
    "request_route {",
    "  if (has_totag()) {",
    "    if (loose_route()) { t_relay(); exit; }",
    '    if (is_method("ACK")) { if (t_check_trans()) { t_relay(); } exit; }',
    '    sl_send_reply("404", "Not here");',
    "    exit;",
    "  }",
    '  if (is_method("CANCEL")) { if (t_check_trans()) { t_relay(); } exit; }',
    "  t_check_trans();",
    ...before,
    "  record_route();",
    `  ${destination}`,
    "  t_relay();",
    "}",
    ""
  ].join("\n")

/** A folder for the files of one test. */
export const folder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-kamailio-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** Writes a file, and gives its path. */
export const write = (path: string, name: string, text: string): string => {
  writeFileSync(join(path, name), text)
  return join(path, name)
}

/** Runs kamailio until the end of the scope. It need not have started when the first INVITE is sent, which is repeated. */
export const run = (path: string, config: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const file = write(path, "kamailio.cfg", config)
      return spawn("kamailio", ["-f", file, "-m", "32", "-M", "8", "-DD", "-E", "-Y", path], { stdio: "ignore" })
    }),
    (child) =>
      Effect.async<void>((resume) => {
        if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGTERM")
      })
  )

/** Whether this machine's kamailio has all that a configuration uses. */
export const accepts = (path: string, config: string): boolean =>
  spawnSync("kamailio", ["-c", "-f", write(path, "kamailio.cfg", config)], { stdio: "ignore" }).status === 0
