import { type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { until } from './until.ts'

const STOP_LIMIT_MS = 30_000
/** Length of the end of a program's output that errors show. */
const MOST_CHARACTERS = 20_000

/** A program that is not part of this project, with all processes that it starts. */
export type StartedProgram = Awaited<ReturnType<typeof startProgram>>

export interface StartOptions extends Pick<SpawnOptions, 'uid' | 'gid'> {
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>
  /** A text that the program prints once it is ready, or a check that is repeated until it holds. */
  readonly ready: RegExp | (() => boolean | Promise<boolean>)
  readonly limitMs?: number
}

/**
 * Starts a program in its own process group, and resolves once it is ready. The group ends with this process at the
 * latest.
 *
 * @throws Error with the end of the program's output, if it ends early or is not ready in time
 */
export async function startProgram(
  program: string,
  args: readonly string[],
  { env = {}, ready, limitMs, ...options }: StartOptions,
) {
  const child = spawn(program, args, {
    ...options,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  const isUp = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null
  const end = (signal: NodeJS.Signals) => {
    if (child.pid !== undefined && isUp()) process.kill(-child.pid, signal)
  }
  const abandon = () => end('SIGKILL')
  process.once('exit', abandon)
  let output = ''
  const note = (text: string) => {
    output = (output + text).slice(-MOST_CHARACTERS)
  }
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', note)
  child.once('error', ({ message }) => note(message))
  /** Ends all processes of the program. Idempotent. */
  const stop = async () => {
    process.off('exit', abandon)
    if (!isUp()) return
    const closed = once(child, 'close')
    end('SIGTERM')
    const late = setTimeout(abandon, STOP_LIMIT_MS)
    await closed
    clearTimeout(late)
  }
  const isReady = ready instanceof RegExp ? () => ready.test(output) : ready
  try {
    await until(
      `${program} to be at work`,
      () => {
        if (!isUp()) throw new Error('it ended at its start')
        return isReady()
      },
      limitMs,
    )
  } catch (cause) {
    await stop()
    throw new Error(`${program} did not start: ${output}`, { cause })
  }
  return {
    /** Returns the end of the program's output. */
    output: () => output,
    stop,
  }
}
