import type { Clock } from '../../../../sidecar/clock.ts'

/** The clock of a process that can be stopped and let go on: time passes meanwhile, and what fell due runs when it is back. */
export function freezable(clock: Clock): Clock & { freeze(): void; thaw(): void } {
  const due = new Set<() => void>()
  let frozen = false

  function thaw(): void {
    frozen = false
    for (const run of due) {
      due.delete(run)
      run()
    }
  }

  return {
    now: () => clock.now(),
    elapsed: () => clock.elapsed(),
    after(delayMs, task) {
      const run = () => task()
      const timer = clock.after(delayMs, () => {
        due.add(run)
        if (!frozen) thaw()
      })
      return {
        cancel() {
          due.delete(run)
          timer.cancel()
        },
      }
    },
    freeze() {
      frozen = true
    },
    thaw,
  }
}
