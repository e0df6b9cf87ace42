import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { until } from '../../meshcentral/support/until.ts'

const STOP_LIMIT_MS = 5_000
/** Of what a program writes, the end: for errors. */
const MAX_LOG_CHARACTERS = 8_000

/** A program and all that it starts. */
export interface ProcessGroup {
  /** The end of what they wrote. */
  output(): string
  /** Ends all of them. Twice is fine. */
  stop(): Promise<void>
}

export interface StartOptions {
  /** What it answers with 200 as soon as it is there, such as that of discovery. */
  readonly address: string
  readonly limitMs: number
  /** PEM of the authority of its certificate. */
  readonly ca?: string
}

/**
 * Starts a program in a group of its own, and resolves once it answers.
 *
 * @throws Error with the end of its output, when it ends before or the time is over
 */
export async function startGroup(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { address, limitMs, ca }: StartOptions,
): Promise<ProcessGroup> {
  const child = spawn(program, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  const end = (signal: NodeJS.Signals) => endGroup(child, signal)
  const onExit = () => end('SIGKILL')
  process.once('exit', onExit)
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said = `${said}${chunk}`.slice(-MAX_LOG_CHARACTERS)
    })
  }
  child.once('error', ({ message }) => {
    said = message
  })
  const stop = async () => {
    process.off('exit', onExit)
    if (!isUp(child)) return
    const closed = once(child, 'close')
    end('SIGTERM')
    const late = setTimeout(() => end('SIGKILL'), STOP_LIMIT_MS)
    await closed
    clearTimeout(late)
  }
  const browser = new ScriptedBrowser(ca === undefined ? {} : { ca })
  try {
    await until(
      `an answer from ${address}`,
      async () => {
        if (!isUp(child)) throw new Error('it ended at its start')
        const answer = await browser.step(address).catch(() => undefined)
        return answer?.status === 200
      },
      limitMs,
    )
  } catch (cause) {
    await stop()
    throw new Error(`${program} did not start: ${said}`, { cause })
  } finally {
    browser.close()
  }
  return { output: () => said, stop }
}

const isUp = ({ pid, exitCode, signalCode }: ChildProcess) =>
  pid !== undefined && exitCode === null && signalCode === null

function endGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid !== undefined && isUp(child)) process.kill(-child.pid, signal)
}
