/** Commands that help pages show. */
export interface Example {
  readonly line: string
  /** What it does; empty where the command says so. */
  readonly what: string
  /** Whether `svc --help` shows it. */
  readonly isFirst?: true
}

/** Examples of help pages. A test checks that each can be read as a command. */
export const examples: ReadonlyArray<Example> = [
  { line: "svc serve --dev", what: "a server to try things on", isFirst: true },
  { line: "svc doctor", what: "is everything there that a server needs?", isFirst: true },
  { line: "svc org create Acme --credits 20", what: "a customer, with project and keys", isFirst: true },
  { line: "svc chat Reception", what: "talk to an agent in text", isFirst: true },
  { line: "svc org set-tier org_… growth", what: "" },
  { line: "svc org set-countries org_… NL,BE,GB", what: "" },
  { line: "svc project create Support --org org_…", what: "" },
  { line: "svc keys create project --org org_… --project proj_…", what: "" },
  { line: "svc keys create project --org org_… --project proj_… --scope read", what: "" },
  { line: "svc keys create workspace --org org_… --scopes bookings.customers.read", what: "" },
  { line: "svc keys list --org org_…", what: "" },
  { line: "svc keys revoke 12", what: "" },
  { line: "svc credits add org_… 25", what: "" },
  { line: "svc agent check agent_…", what: "" },
  { line: 'svc agent check agent_… --dev --tool find_slots --with \'{"day":"Friday"}\'', what: "" },
  { line: "svc agent check https://example.com/svc --all-tools --strict", what: "" },
  { line: "svc numbers search NL --org org_… --type mobile", what: "" },
  { line: "svc numbers buy +12125550100 --org org_… --agent agent_…", what: "" },
  { line: "svc numbers assign +12125550100 none --org org_…", what: "" },
  { line: "svc sip status", what: "" },
  { line: "svc chat Reception --from +15550100200", what: "" },
  { line: "svc call Reception", what: "" },
  { line: "svc call Reception --max-calls 10 --expires-in 86400", what: "" },
  { line: "svc replay call_…", what: "" },
  { line: "svc replay call_… --save call.jsonl", what: "" },
  { line: "svc replay call.jsonl --json", what: "" }
]
