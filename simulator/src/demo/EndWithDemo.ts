// Loaded by the demo's server: the demo holds the other end of standard input, so that the server also ends when the demo
// is killed and can stop nothing itself.
process.stdin.on("end", () => process.kill(process.pid, "SIGTERM"))
process.stdin.on("error", () => process.kill(process.pid, "SIGTERM"))
process.stdin.resume()
