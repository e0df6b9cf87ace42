import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { endWithBench } from './end-with-bench.ts'
import { type ProcessUsage, usageOf } from './process-usage.ts'

const HOST = fileURLToPath(new URL('program-host.ts', import.meta.url))

/** A file of the bench in its own process, so that it does not share the event loop with the measured code. */
export interface Program<Exports> extends ProcessUsage {
  /**
   * Calls an exported function of the file, one call at a time. Arguments and result must be plain data. Rejects if the
   * process ends.
   */
  call<Name extends keyof Exports>(name: Name, ...given: Given<Exports[Name]>): Promise<Answer<Exports[Name]>>
  close(): Promise<void>
}

type Given<Call> = Call extends (...given: infer All) => unknown ? All : never
type Answer<Call> = Call extends (...given: never) => infer One ? Awaited<One> : never

/** @param file name of a file in this folder, with the exports to call */
export async function startProgram<Exports>(file: string): Promise<Program<Exports>> {
  const child = fork(HOST, [file], { execArgv: ['--import', 'tsx'] })
  endWithBench(child)
  await messageFrom(child)
  return {
    ...usageOf(child.pid),
    async call<Name extends keyof Exports>(name: Name, ...given: Given<Exports[Name]>) {
      const answer = messageFrom(child)
      child.send({ name, given })
      return (await answer) as Answer<Exports[Name]>
    },
    async close() {
      const exited = once(child, 'exit')
      child.kill()
      await exited
    },
  }
}

async function messageFrom(child: ChildProcess): Promise<unknown> {
  const waiting = new AbortController()
  const { signal } = waiting
  try {
    const [{ answer }] = await Promise.race([
      once(child, 'message', { signal }),
      once(child, 'exit', { signal }).then(() => {
        throw new Error(`${child.spawnargs.at(-1)} ended before it answered.`)
      }),
    ])
    return answer
  } finally {
    waiting.abort()
  }
}
