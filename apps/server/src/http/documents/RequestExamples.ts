/** Examples of requests, which are accepted as they stand once their ids are ids of the reader. */

type Body = { readonly [field: string]: unknown }

const agentId = "agent_0123456789abcdefghijklmn"
const callId = "call_0123456789abcdefghijklmn"
const key = { name: "Website", scope: "read" }
const project = { name: "Clinic", description: "The dental clinic in Utrecht" }

/** Bodies by operation. The body of an operation that is not here is made from its schema. */
export const bodyExamples: { readonly [operationId: string]: Body } = {
  "organization.createKey": { name: "Automation" },
  "organization.createWorkspaceKey": { name: "Booking site", scopes: ["bookings.customers.read"] },
  "orgProjects.create": project,
  "projects.create": project,
  "project.update": project,
  "orgProjects.createKey": key,
  "projects.createKey": key,
  "project.createKey": key,
  "agents.create": { name: "Reception", server_url: "https://example.com/voice", language: "en-US", voice: "Sarah" },
  "agents.update": { language: "nl-NL", max_duration: 600, recording: true },
  "agents.clone": { name: "Reception at night" },
  "calls.place": {
    agent_id: agentId,
    to_number: "+15550100200",
    from_number: "+15550100100",
    ring_timeout_seconds: 30
  },
  "testSessions.create": { agent_id: agentId },
  "testSessions.message": { content: "What are your opening hours?" },
  "webhooks.create": { url: "https://example.com/events", events: ["call.started", "call.ended"] },
  "webhooks.update": { events: ["*"], is_active: true },
  "webhooks.test": { event_type: "call.ended" },
  "webhooks.replay": { from: "2026-11-01T00:00:00Z", to: "2026-11-02T00:00:00Z" },
  "projectWebhook.test": { event_type: "call.ended" },
  "phoneNumbers.purchase": { number: "+15550100100" },
  "phoneNumbers.import": { number: "+15550100100", telephony: "simulated" },
  "phoneNumbers.assign": { agent_id: agentId },
  "addresses.create": {
    customer_name: "Dental Clinic BV",
    street: "Oudegracht 1",
    city: "Utrecht",
    postcode: "3511 AA",
    region: "Utrecht",
    country: "NL"
  },
  "sms.send": { from_number: "+15550100100", to: "+15550100200", message: "Your table is booked." },
  "chat.complete": {
    model: "svc-ki-1.0",
    messages: [
      { role: "system", content: "You answer in one sentence." },
      { role: "user", content: "What is an IVR?" }
    ]
  },
  "bookingCustomers.create": {
    name: "Ada de Vries",
    email: "ada@example.com",
    phone: "+31612345678",
    address: "Oudegracht 1",
    postcode: "3511 AA",
    city: "Utrecht",
    country: "NL",
    birthdate: "1984-05-03",
    marketing_opt_in: false
  },
  "bookingCustomers.update": { email: "ada.devries@example.com", notes: "Prefers mornings" },
  "bookingCustomers.bulkDelete": { ids: ["bcus_0123456789abcdefghijklmn"] }
}

/** Parameters of paths by name. */
export const pathExamples: { readonly [parameter: string]: string } = {
  agentId,
  callId,
  projectId: "proj_0123456789abcdefghijklmn",
  sessionId: "ts_0123456789abcdefghijklmn",
  knowledgeBaseId: "kb_0123456789abcdefghijklmn",
  customerId: "bcus_0123456789abcdefghijklmn",
  webhookId: "1",
  addressId: "1",
  keyId: "1",
  deliveryId: "1",
  numberId: "1",
  model: "svc-ki-1.0"
}

/** A request as TypeScript that Node, Deno, Bun and browsers run. `url` is complete. */
export const typescriptExample = (method: string, url: string, body: unknown): string => {
  const headers = [
    `    Authorization: \`Bearer \${process.env.SVC_KEY}\``,
    ...(body === undefined ? [] : ['    "Content-Type": "application/json"'])
  ]
  const json = JSON.stringify(body, null, 2)?.replace(/\n/g, "\n  ")
  const options = [
    ...(method === "get" ? [] : [`  method: "${method.toUpperCase()}"`]),
    `  headers: {\n${headers.join(",\n")}\n  }`,
    ...(json === undefined ? [] : [`  body: JSON.stringify(${json})`])
  ]
  return [
    `const response = await fetch("${url}", {\n${options.join(",\n")}\n})`,
    "if (!response.ok) throw new Error(await response.text())",
    "console.log(await response.json())"
  ].join("\n")
}
