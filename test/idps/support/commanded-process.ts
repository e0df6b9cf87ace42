import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const ANSWER_LIMIT_MS = 30_000
/** How many of the last lines of other output are kept for errors. */
const MAX_LOG_LINES = 200

/**
 * A program that reads orders from its standard input, one JSON line each (`{ id, verb, with }`). It answers each on
 * its standard output with a JSON line (`{ answer: id, value }` or `{ answer: id, error }`). It must exit when its
 * standard input ends.
 */
export interface CommandedProcess {
  /**
   * @throws Error with the program's message if it fails, after 30 s without an answer, or with the end of its output
   * if it exits
   */
  command(verb: string, given?: unknown): Promise<unknown>
  /** Returns the last lines of other output. */
  readonly output: () => string
  readonly isUp: () => boolean
  /** Kills the program. Idempotent. */
  close(): Promise<void>
}

export interface ProgramOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/** Running programs, which must not outlive this process. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export function startCommanded(
  program: string,
  args: readonly string[],
  { cwd, env = {} }: ProgramOptions = {},
): CommandedProcess {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] })
  running.add(child)
  const waiting = new Map<number, Waiting>()
  const log: string[] = []
  let last = 0
  const note = (line: string) => {
    log.push(line)
    if (log.length > MAX_LOG_LINES) log.shift()
  }
  const output = () => log.join('\n')
  createInterface({ input: child.stderr }).on('line', note)
  createInterface({ input: child.stdout }).on('line', (line) => {
    const answer = readAnswer(line)
    if (!answer) return note(line)
    const request = waiting.get(answer.answer)
    waiting.delete(answer.answer)
    if (answer.error === undefined) request?.resolve(answer.value)
    else request?.reject(new Error(answer.error))
  })
  // Ignores failed writes: they mean that the program has exited, and its exit rejects all open requests.
  child.stdin.on('error', () => undefined)
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve())
    child.once('error', ({ message }) => {
      note(message)
      resolve()
    })
  }).then(() => {
    running.delete(child)
    for (const { reject } of waiting.values()) reject(new Error(`${program} ended:\n${output()}`))
    waiting.clear()
  })
  const isUp = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null
  return {
    output,
    isUp,
    command(verb, given) {
      last += 1
      const id = last
      const answered = new Promise<unknown>((resolve, reject) => {
        const limit = setTimeout(() => {
          waiting.delete(id)
          reject(new Error(`${program} did not answer to ${verb} within ${ANSWER_LIMIT_MS} ms:\n${output()}`))
        }, ANSWER_LIMIT_MS)
        const settle = <Value>(done: (value: Value) => void) => {
          return (value: Value) => {
            clearTimeout(limit)
            done(value)
          }
        }
        waiting.set(id, { resolve: settle(resolve), reject: settle(reject) })
      })
      if (isUp()) child.stdin.write(`${JSON.stringify({ id, verb, with: given ?? null })}\n`)
      else waiting.get(id)?.reject(new Error(`${program} has ended:\n${output()}`))
      return answered
    },
    async close() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

function readAnswer(line: string): { answer: number; value?: unknown; error?: string } | undefined {
  if (!line.startsWith('{"answer":')) return undefined
  return JSON.parse(line)
}
