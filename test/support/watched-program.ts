import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { TYPESCRIPT } from './typescript/options.ts'

/** A program of this project, with the output that a user sees. */
export type WatchedProgram = ReturnType<typeof watchProgram>

export function watchProgram(...args: readonly string[]) {
  const child = spawn(process.execPath, [...TYPESCRIPT, ...args])
  let text = ''
  let complaints = ''
  const listeners = new Set<() => void>()
  const listen = (chunk: Buffer) => {
    text += chunk
    for (const look of listeners) look()
  }
  child.stdout.on('data', listen)
  child.stderr.on('data', (chunk) => {
    complaints += chunk
    listen(chunk)
  })
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, text }))
  /** Resolves with the whole output once it contains `part`. Rejects if the program ends before. */
  const shows = (part: string) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        if (text.includes(part)) resolve(text)
      }
      listeners.add(look)
      look()
      void ended.then(() => reject(new Error(`It ended without showing "${part}":\n${text}`)))
    })
  return {
    child,
    shows,
    ended,
    /** Returns the output on stderr, which `shows` includes too. */
    complaints: () => complaints,
  }
}

/** Sends the APRS packet that a page suggests to send by radio. */
export function sendByRadio(page: string): { readonly packet: string; close(): void } {
  const [, login = '', packet = '', port] =
    /printf '%s\\r\\n' '([^']+)' '([^']+)' \| curl -s -m 2 telnet:\/\/127\.0\.0\.1:(\d+)/.exec(page) ?? []
  const radio = connect(Number(port), '127.0.0.1').on('error', () => undefined)
  radio.write(`${login}\r\n${packet}\r\n`)
  return { packet, close: () => radio.destroy() }
}
