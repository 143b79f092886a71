import { randomBytes } from "node:crypto"
import type { Host } from "@svc/providers/Host"
import { monotonicMillis } from "@svc/providers/MonotonicTime"
import { Effect, ExecutionStrategy, Exit, FiberSet, Scope } from "effect"
import { CallerAuth } from "./auth/CallerAuth.ts"
import type { Users } from "./auth/Users.ts"
import type { AgentEffect, AgentEvent, Locate } from "./dialog/AgentEffect.ts"
import * as Dialog from "./dialog/Dialog.ts"
import { UserAgent } from "./dialog/UserAgent.ts"
import type * as Message from "./message/Message.ts"
import * as Parser from "./message/Parser.ts"
import { serialize } from "./message/Serializer.ts"
import type { Transport } from "./Settings.ts"
import { isReliable, type Peer } from "./transaction/Peer.ts"
import { responsePeer } from "./transaction/ReceivedVia.ts"
import { usualTiming } from "./transaction/Timing.ts"
import { addressFor, bracketed, isUnspecified } from "./transport/LocalAddress.ts"
import { literal, locate, type Names } from "./transport/Locator.ts"
import { SourceLimits } from "./transport/SourceLimits.ts"
import * as Tcp from "./transport/Tcp.ts"
import * as Tls from "./transport/Tls.ts"
import * as TlsFiles from "./transport/TlsFiles.ts"
import * as Udp from "./transport/Udp.ts"

export interface SignalingOptions {
  readonly bind: { readonly address: string; readonly port: number }
  readonly transports: ReadonlyArray<Transport>
  /** For the transport TLS: its port, and the files of its certificates. */
  readonly tls: {
    readonly bind: { readonly address: string; readonly port: number }
    readonly files: TlsFiles.TlsFiles
  }
  readonly externalAddress: string | undefined
  /** Whether messages of this address are read at all; with `users` also those of others that are authenticated. */
  readonly isAllowed: (address: string) => boolean
  /** The phones that may call and register with a password; undefined: none. */
  readonly users: Users | undefined
  readonly requestsPerSecond: number
  readonly callsPerSource: number
  readonly names: Names
  readonly log: Host["log"]
}

/** The user agent with its sockets. */
export interface Signaling {
  readonly agent: UserAgent
  /** The address of this machine that this peer reaches: the external one, that of the socket, or of an interface. */
  readonly addressFor: (peer: string, transport?: Transport) => string
  readonly port: number
  /** The port for requests of peers over this transport. */
  readonly portOf: (transport: Transport) => number
  /** The port that accepts TLS; undefined: none does. */
  readonly tlsPort: number | undefined
  /** Why DNS gave no server for the request of a call, where that is so. */
  readonly problemOf: (call: string) => string | undefined
  /** Milliseconds, monotonic. */
  readonly now: () => number
  /** Carries out what a method of `agent` has returned. */
  readonly perform: (effects: ReadonlyArray<AgentEffect>) => void
  /** Addresses whose messages are ignored, with how many messages and connections came from each. */
  readonly ignored: ReadonlyMap<string, number>
}

/** The most bytes that a source which may be forged gets in answer to a request, as a multiple of its bytes. */
const maxAmplification = 3

const registerStart = Buffer.from("REGISTER ")

const isRegister = (bytes: Uint8Array): boolean => registerStart.equals(bytes.subarray(0, registerStart.length))

/** Ignored sources that are named and counted, at most. */
const maxNamed = 1000

/** How long the loop sleeps at most while a timer runs, in ms: a timer may be set that is due before. */
const longestSleep = 100

const addressOf = ({ address, port }: Peer): string => `${bracketed(address)}:${port}`

const fraction = (): number => randomBytes(4).readUInt32BE() / 0x1_0000_0000

const random = (): string => randomBytes(16).toString("hex")

/** Opens the sockets and runs the user agent until the end of the scope. `onEvent` is called synchronously. */
export const open = (
  options: SignalingOptions,
  onEvent: (event: AgentEvent) => void
): Effect.Effect<Signaling, Udp.ListenFailed | TlsFiles.TlsFileFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { bind, externalAddress, isAllowed, log, names, transports, users } = options
    const clock = yield* Effect.clock
    const now = (): number => monotonicMillis(clock)
    const fork = yield* FiberSet.makeRuntime<never>()
    const limits = new SourceLimits(options.requestsPerSecond)
    const ignored = new Map<string, number>()
    const problems = new Map<string, string>()
    let tcp: Tcp.Tcp | undefined
    let tls: Tls.Tls | undefined
    let udp: Udp.Udp | undefined
    const isBusy = yield* Effect.makeLatch()

    const localAddress = (peer: string, transport: Transport = "udp"): string => {
      const own = transport === "tls" ? options.tls.bind.address : bind.address
      return externalAddress ?? (isUnspecified(own) ? (addressFor(peer) ?? own) : own)
    }
    const portOf = (transport: Transport): number => {
      // Without a certificate we accept no connections: peers answer on ours, and get the usual port.
      if (transport === "tls") return tls?.port ?? (options.tls.bind.port || 5061)
      return (transport === "tcp" ? tcp?.port : udp?.port) ?? bind.port
    }

    const agent = new UserAgent({
      timing: usualTiming,
      random,
      sentBy: ({ address, transport }) => ({
        host: bracketed(localAddress(address, transport)),
        port: portOf(transport)
      }),
      callsPerSource: options.callsPerSource,
      hasTcp: transports.includes("tcp")
    })

    const wake = (): void => {
      if (agent.dueAt !== Number.POSITIVE_INFINITY) isBusy.unsafeOpen()
    }

    const send = (message: Message.Message, peer: Peer): void => {
      const bytes = serialize(message)
      const failed = (reason: string): void => {
        if (peer.transport === "tls") {
          log.warning(`SIP: no TLS connection to ${peer.host ?? peer.address} (${addressOf(peer)}): ${reason}`)
        }
        perform(agent.transportFailed(message, now()))
      }
      if (peer.transport === "tcp" && tcp !== undefined) tcp.send(bytes, peer, failed)
      else if (peer.transport === "tls" && tls !== undefined) tls.send(bytes, peer, failed)
      else if (peer.transport === "udp" && udp !== undefined) udp.send(bytes, peer.address, peer.port)
      else {
        log.warning(`SIP: nothing can be sent to ${addressOf(peer)}: ${peer.transport} is not in SVC_SIP_TRANSPORTS`)
        perform(agent.transportFailed(message, now()))
      }
    }

    const problem = (call: string, reason: string): void => {
      problems.set(call, reason)
      const [oldest] = problems.keys()
      if (problems.size > maxNamed && oldest !== undefined) problems.delete(oldest)
    }

    const problemOf = (call: string): string | undefined => problems.get(call)

    const find = (effect: Locate): void => {
      const hop = Dialog.nextHop(effect.request)
      const known = hop === undefined ? undefined : literal(hop, transports)
      if (known !== undefined || hop === undefined) {
        perform(known === undefined ? agent.unreachable(effect, now()) : agent.send(effect, [known], now()))
        return
      }
      fork(
        locate(hop, names, transports, fraction).pipe(
          Effect.match({
            onFailure: ({ reason }) => {
              log.warning(`SIP: ${effect.request.method} could not be sent: ${reason}`)
              problem(effect.call, reason)
              perform(agent.unreachable(effect, now()))
            },
            onSuccess: (peers) => {
              problems.delete(effect.call)
              perform(agent.send(effect, peers, now()))
            }
          })
        )
      )
    }

    const perform = (effects: ReadonlyArray<AgentEffect>): void => {
      for (const effect of effects) {
        if (effect._tag === "Send") send(effect.message, effect.peer)
        else if (effect._tag === "Locate") find(effect)
        else onEvent(effect)
      }
      wake()
    }

    const callers =
      users === undefined
        ? undefined
        : new CallerAuth({
            users: users.passwords,
            algorithms: users.algorithms,
            registrar: users.registrar,
            key: randomBytes(32),
            random,
            isKnown: (message) => agent.isKnown(message)
          })

    /** The operator sees each source that is ignored once. */
    const ignore = (address: string, advice: string): void => {
      const before = ignored.get(address)
      if (before !== undefined) ignored.set(address, before + 1)
      else if (ignored.size < maxNamed) {
        ignored.set(address, 1)
        log.warning(`SIP from ${address} is ignored; ${advice}`)
      }
    }

    /** Whether an address may send something at all. */
    const admits = (address: string): boolean => {
      if (callers !== undefined || isAllowed(address)) return true
      ignore(address, "add the address to SVC_SIP_ALLOW if it is your trunk")
      return false
    }

    /** Returns whether the sender is known. */
    const authenticate = (auth: CallerAuth, bytes: Uint8Array, peer: Peer): boolean => {
      const parsed = Parser.parse(bytes, isReliable(peer))
      if (parsed._tag !== "Message") return false
      const admission = auth.admit(parsed.message, peer, now())
      if (admission._tag === "Pass") {
        const { user } = admission
        const effects = agent.receive(bytes, peer, now())
        const withUser = (effect: AgentEffect): AgentEffect =>
          effect._tag === "Incoming" && user !== undefined ? { ...effect, user } : effect
        perform(effects.map(withUser))
      } else if (admission._tag === "Respond") {
        const { message } = parsed
        respond(admission.response, message._tag === "Request" ? responsePeer(message, peer) : peer, bytes.length)
      } else if (admission.reason !== undefined) {
        ignore(peer.address, `${admission.reason}; its phones have to use a name and password of SVC_SIP_USERS`)
      }
      return admission._tag === "Pass" || (admission._tag === "Respond" && admission.isKnown === true)
    }

    /** Answers a source that may be forged, with at most `maxAmplification` times the bytes that it has sent. */
    const respond = (response: Message.Response, peer: Peer, received: number): void => {
      if (isReliable(peer) || serialize(response).length <= maxAmplification * received) send(response, peer)
    }

    /**
     * Sources that are not allowed get no answer, but challenges where phones have passwords. Returns whether the sender is
     * known: by its address, a password, or a call of its own.
     */
    const receive = (bytes: Uint8Array, peer: Peer): boolean => {
      const { address } = peer
      const isKnown = isAllowed(address)
      if (!admits(address) || !limits.take(address, now())) return isKnown
      if (callers !== undefined && (!isKnown || isRegister(bytes))) return authenticate(callers, bytes, peer) || isKnown
      perform(agent.receive(bytes, peer, now()))
      return true
    }

    const listenOnBoth = Effect.gen(function* () {
      if (transports.includes("udp")) {
        udp = yield* Udp.listen(bind.address, bind.port, (bytes, address, port) =>
          receive(bytes, { transport: "udp", address, port })
        )
      }
      if (transports.includes("tcp")) {
        // One port for both, also when it is any free one.
        const port = bind.port === 0 ? (udp?.port ?? 0) : bind.port
        tcp = yield* Tcp.listen({
          address: bind.address,
          port,
          isAllowed: admits,
          isKnown: isAllowed,
          onMessage: (bytes, from) => receive(bytes, { transport: "tcp", ...from })
        })
      }
    })
    const scope = yield* Effect.scope
    yield* Effect.flatMap(Scope.fork(scope, ExecutionStrategy.sequential), (both) =>
      listenOnBoth.pipe(
        Scope.extend(both),
        Effect.onError(() => Scope.close(both, Exit.void))
      )
    ).pipe(
      // A port that is free for UDP may be taken for TCP.
      Effect.retry({ times: 20, while: ({ code }) => bind.port === 0 && code === "EADDRINUSE" })
    )
    if (transports.includes("tls")) {
      const { bind: own, files } = options.tls
      const identity = yield* TlsFiles.open(files, log.warning)
      tls = yield* Tls.listen({
        address: own.address,
        port: own.port,
        identity,
        isAllowed: admits,
        isKnown: isAllowed,
        onMessage: (bytes, from) => receive(bytes, { transport: "tls", ...from })
      })
    }
    const turn = Effect.suspend(() => {
      const due = agent.dueAt
      if (due === Number.POSITIVE_INFINITY) {
        isBusy.unsafeClose()
        return isBusy.await
      }
      const wait = due - now()
      if (wait > 0) return Effect.sleep(Math.max(1, Math.min(longestSleep, wait)))
      perform(agent.advance(now()))
      return Effect.yieldNow()
    })
    yield* Effect.forkScoped(Effect.forever(turn))
    const port = portOf(transports[0] ?? "udp")
    return { agent, addressFor: localAddress, port, portOf, tlsPort: tls?.port, problemOf, now, perform, ignored }
  })
