import { ConfigProvider, Effect, Layer } from "effect"
import { Database } from "@svc/database/Database"
import { Outbox } from "@svc/database/Outbox"
import { NodeLease } from "@svc/cluster/NodeLease"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { DeliveriesRepo } from "@svc/webhooks/DeliveriesRepo"
import { DeliveryWorker } from "@svc/webhooks/DeliveryWorker"
import { QueueRepo } from "@svc/webhooks/delivery/QueueRepo"
import { Receivers } from "@svc/webhooks/delivery/Receivers"
import { RetrySchedule } from "@svc/webhooks/delivery/RetrySchedule"
import { WebhooksRepo } from "@svc/webhooks/WebhooksRepo"
import { start } from "./Child.ts"
import { bare, paced, saturated, subscribe } from "./WebhookRun.ts"
const stats: Record<string, { n: number; ms: number; items: number }> = {}
const timed = (name: string, items: (a: any, args: any[]) => number, f: any) => (...args: any[]) => Effect.suspend(() => { const t = performance.now(); return Effect.tap(f(...args), (a: any) => Effect.sync(() => { const s = stats[name] ??= { n: 0, ms: 0, items: 0 }; s.n++; s.ms += performance.now() - t; s.items += items(a, args) })) })
const Q = Layer.effect(QueueRepo, Effect.map(QueueRepo, (q: any) => ({ ...q, fanOut: timed("fanOut", (a) => a, q.fanOut), claim: timed("claim", (a) => a.length, q.claim), finish: timed("finish", (_, [o]) => o.length, q.finish) }))).pipe(Layer.provide(QueueRepo.layer))
const O = Layer.effect(Outbox, Effect.map(Outbox, (q: any) => ({ ...q, appendAll: timed("append", (_, [o]) => o.length, q.appendAll) }))).pipe(Layer.provide(Outbox.layer))
const L = (config: any) => DeliveryWorker.pipe(
    Layer.provideMerge(Layer.mergeAll(Q as any, WebhooksRepo.layer, DeliveriesRepo.layer, O as any)),
    Layer.provide(Layer.mergeAll(NodeLease.layer, RetrySchedule.layer, Receivers.layer)),
    Layer.provide(UrlSafety.layer.pipe(Layer.provide(Resolver.layer))),
    Layer.provideMerge(Database.layer),
    Layer.provide(Layer.setConfigProvider(config)))
const show = (what: string) => { console.log(what); for (const [k, s] of Object.entries(stats)) { console.log("  ", k, "n", s.n, "ms/call", (s.ms / s.n).toFixed(2), "items/call", (s.items / s.n).toFixed(1), "total ms", s.ms.toFixed(0)); delete stats[k] } }
const cfg = ConfigProvider.fromMap(new Map([["SVC_DATA_DIR", process.argv[2]!], ["SVC_ALLOW_PRIVATE_URLS", "true"]]))
await Effect.runPromise(Effect.scoped(Effect.gen(function*(){
  const receiver: any = yield* start("./ReceiverProcess.ts")
  const url: any = yield* receiver.ask("address")
  yield* Effect.gen(function*(){
    const { org_id } = yield* subscribe(url)
    console.log("bare", yield* bare(receiver, url, 2))
    console.log("sat1", yield* saturated(receiver, org_id, 2)); show("sat1")
    const c = process.cpuUsage(), t = performance.now()
    console.log("sat2", yield* saturated(receiver, org_id, 4)); show("sat2")
    const d = process.cpuUsage(c); console.log("cpu%", ((d.user + d.system) / 10 / (performance.now() - t)).toFixed(0))
    console.log("paced", yield* paced(receiver, org_id, 100, 4)); show("paced")
    console.log("bare", yield* bare(receiver, url, 2))
  }).pipe(Effect.provide(L(cfg) as any))
})) as any)
