import type { ChildProcess } from 'node:child_process'

/**
 * Ends the process where the bench breaks off without having closed it: nothing else would, and it would disturb
 * whatever is measured next.
 */
export function endWithBench(child: ChildProcess): void {
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
}
