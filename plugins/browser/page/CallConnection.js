/** How long the page tries to reconnect, in ms. The server keeps the call as long. */
const resumeMs = 10_000
/** The server sends something every second: after this time without, the connection is taken for broken. */
const silentMs = 3000
/** How long one attempt to connect may take, and the time between two, in ms. */
const attemptMs = 3000
const betweenMs = 500
/** Messages after which the server is told that they have arrived. */
const ackEvery = 25
/** Bytes that wait in the browser from which on the microphone's audio is dropped: 2 s. */
const mostWaiting = 64 * 1024

/** The server's close codes. */
const codes = { protocol: 4400, gone: 4410 }
/** Close codes of a server, or a proxy, that stops or is restarted. */
const stopping = [1001, 1012]

/**
 * Why there is no connection any more. `refused`: none was made. `lost`: the network was gone for too long. `gone`: the
 * server does not know the call any more. `closed`: the server closed it. `shutdown`: the server stopped and did not
 * come back in time.
 * @typedef {"refused" | "lost" | "gone" | "closed" | "shutdown"} End
 */

/**
 * @typedef {object} Listener
 * @property {(message: Record<string, any>) => void} onMessage
 * @property {(frame: ArrayBuffer) => void} onAudio one frame of the agent
 * @property {(isLost: boolean) => void} onLost the connection was lost, or is back
 * @property {(end: End) => void} onEnd nothing follows
 */

/** The WebSocket of a call, which reconnects. Messages are counted on both sides, so that none is lost or comes twice. */
export class CallConnection {
  /**
   * @param {string} url
   * @param {Listener} listener
   */
  constructor(url, listener) {
    this.url = url
    this.listener = listener
    /** @type {WebSocket | undefined} */
    this.socket = undefined
    /** The key to reconnect with; undefined before the call was offered. @type {string | undefined} */
    this.key = undefined
    /** Counted messages that have come, and how many the server was told of. */
    this.received = 0
    this.acknowledged = 0
    /** Counted messages of ours that the server may not have. @type {Array<{ n: number, text: string }>} */
    this.pending = []
    this.sent = 0
    this.heardAt = performance.now()
    this.sentAt = 0
    /** @type {number | undefined} */
    this.lostAt = undefined
    this.attemptAt = 0
    /** The connection was lost because the server stops. */
    this.isStopping = false
    this.isOver = false
    this.timer = setInterval(() => this.watch(), 250)
    this.connect()
  }

  connect() {
    const resume = this.key === undefined ? "" : `?resume=${encodeURIComponent(this.key)}&received=${this.received}`
    const socket = new WebSocket(this.url + resume)
    socket.binaryType = "arraybuffer"
    this.socket = socket
    this.attemptAt = performance.now()
    socket.onmessage = ({ data }) => {
      if (this.socket === socket && !this.isOver) this.receive(data)
    }
    socket.onclose = ({ code }) => {
      if (this.socket === socket && !this.isOver) this.closed(code)
    }
  }

  /** @param {string | ArrayBuffer} data */
  receive(data) {
    this.heardAt = performance.now()
    if (typeof data !== "string") {
      this.count()
      this.listener.onAudio(data)
      return
    }
    const message = JSON.parse(data)
    if (message.event === "ping") return this.keepAlive()
    if (message.event === "resumed") return this.resumed(message.n)
    this.count()
    if (message.event === "calling") this.key = message.resume
    this.listener.onMessage(message)
  }

  count() {
    this.received++
    if (this.received - this.acknowledged >= ackEvery) this.acknowledge()
  }

  acknowledge() {
    this.acknowledged = this.received
    this.write(JSON.stringify({ event: "ack", received: this.received }))
  }

  /** @param {number} n how many of our messages the server has */
  resumed(n) {
    this.lostAt = undefined
    this.isStopping = false
    this.acknowledged = this.received
    this.pending = this.pending.filter((message) => message.n > n)
    for (const { text } of this.pending) this.write(text)
    this.listener.onLost(false)
  }

  /** @param {number} code */
  closed(code) {
    this.socket = undefined
    if (stopping.includes(code)) this.isStopping = true
    if (this.key === undefined) this.end("refused")
    else if (code === codes.gone) this.end("gone")
    else if (code === codes.protocol || code === 1000) this.end("closed")
    else this.lose()
  }

  lose() {
    if (this.lostAt !== undefined) return
    this.lostAt = performance.now()
    this.listener.onLost(true)
    this.connect()
  }

  watch() {
    const now = performance.now()
    if (this.lostAt !== undefined) {
      if (now - this.lostAt >= resumeMs) return this.end(this.isStopping ? "shutdown" : "lost")
      const since = now - this.attemptAt
      if (since >= attemptMs || (this.socket === undefined && since >= betweenMs)) this.retry()
      return
    }
    if (now - this.heardAt >= (this.key === undefined ? resumeMs : silentMs)) {
      this.drop()
      if (this.key === undefined) this.end("refused")
      else this.lose()
      return
    }
    this.keepAlive()
  }

  /** Shows the server that the page is there. Not by a timer alone, because browsers slow down the timers of hidden pages. */
  keepAlive() {
    if (this.received > this.acknowledged) this.acknowledge()
    if (performance.now() - this.sentAt >= 500) this.write('{"event":"ping"}')
  }

  /** The network may be there again. */
  retry() {
    if (this.isOver || this.lostAt === undefined) return
    this.drop()
    this.connect()
  }

  drop() {
    const socket = this.socket
    this.socket = undefined
    socket?.close()
  }

  /** @param {string | ArrayBuffer} data */
  write(data) {
    if (this.socket?.readyState !== WebSocket.OPEN) return
    this.sentAt = performance.now()
    this.socket.send(data)
  }

  /** Sends audio of the microphone. While the connection is lost it is dropped. @param {ArrayBuffer} audio */
  sendAudio(audio) {
    if (this.lostAt === undefined && (this.socket?.bufferedAmount ?? 0) < mostWaiting) this.write(audio)
  }

  /** Sends a message that arrives once. @param {Record<string, unknown>} message */
  send(message) {
    const n = ++this.sent
    const text = JSON.stringify({ ...message, n })
    this.pending.push({ n, text })
    // The server keeps no more marks.
    if (this.pending.length > 200) this.pending.shift()
    if (this.lostAt === undefined) this.write(text)
  }

  hangUp() {
    if (this.isOver) return
    this.write('{"event":"hangup"}')
    this.stop()
  }

  /** @param {End} end */
  end(end) {
    if (this.isOver) return
    this.stop()
    this.listener.onEnd(end)
  }

  stop() {
    this.isOver = true
    clearInterval(this.timer)
    this.socket?.close(1000)
  }
}
