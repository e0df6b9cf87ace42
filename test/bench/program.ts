import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { endWithBench } from './end-with-bench.ts'

/** A program of the bench in a process of its own, so that it shares no event loop with what is measured. */
export interface Program {
  readonly pid: number | undefined
  /** Sends it an order and resolves with its answer. Rejects when it ends instead. */
  ask<Answer>(order: object): Promise<Answer>
  close(): Promise<void>
}

/** @param file beside this one; it says `ready`, then answers one message to each that it gets */
export async function startProgram(file: string): Promise<Program> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), { execArgv: ['--import', 'tsx'] })
  endWithBench(child)
  await messageFrom(child)
  return {
    pid: child.pid,
    async ask<Answer>(order: object) {
      const answer = messageFrom(child)
      child.send(order)
      return (await answer) as Answer
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
    const [answer] = await Promise.race([
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

/** In the program: says `ready`, and answers each order with what comes of it. Ends where that fails. */
export function answerOrders<Order>(carryOut: (order: Order) => unknown): void {
  process.on('message', (order: Order) => {
    Promise.resolve(order)
      .then(carryOut)
      .then(
        (answer) => process.send?.(answer),
        (error: unknown) => {
          console.error(error)
          process.exit(1)
        },
      )
  })
  process.send?.('ready')
}
