import type { ChildProcess } from 'node:child_process'

/** Ends the process if the bench aborts without closing it. Otherwise it would disturb the next measurement. */
export function endWithBench(child: ChildProcess): void {
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
}
