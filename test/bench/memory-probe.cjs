// Loaded by --require with --expose-gc: a line of memory figures after a full collection, every few seconds and at each SIGUSR2.
const { appendFileSync } = require('node:fs')

const file = process.env.MEMORY_PROBE_FILE
if (file !== undefined && typeof globalThis.gc === 'function') {
  const write = () => {
    globalThis.gc()
    const { rss, heapUsed, external } = process.memoryUsage()
    appendFileSync(file, `${JSON.stringify({ seconds: Math.round(process.uptime()), rss, heapUsed, external })}\n`)
  }
  process.on('SIGUSR2', write)
  setInterval(write, Number(process.env.MEMORY_PROBE_MS ?? 5_000)).unref()
}
