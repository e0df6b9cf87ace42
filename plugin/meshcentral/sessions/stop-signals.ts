const SIGNALS = ['SIGTERM', 'SIGINT'] as const
type Signal = (typeof SIGNALS)[number]

/** The part of Node's `process` that this needs. */
export type SignalledProcess = Pick<
  NodeJS.Process,
  'on' | 'removeListener' | 'rawListeners' | 'listenerCount' | 'emit' | 'kill' | 'pid'
>

/**
 * Has a process finish something before a stop signal ends it. MeshCentral ends at once: SIGTERM by the operating
 * system, SIGINT by a listener that leaves.
 *
 * From now on, the signals come here alone, and the listeners that were there wait. The first signal calls `finish`.
 * Once that settles, or at a second signal, everything is put back as it was, and the signal comes to whoever would
 * have got it in the first place.
 *
 * @param finish has to end within a time that a service manager waits
 * @returns puts everything back
 */
export function finishBeforeStop(finish: () => Promise<unknown>, target: SignalledProcess = process): () => void {
  const holds = SIGNALS.map((signal) => hold(signal, onSignal, target))
  let stopping = false

  function putBack(): void {
    for (const release of holds.splice(0)) release()
  }

  function onSignal(signal: Signal): void {
    const isSecond = stopping
    stopping = true
    const leave = () => {
      if (holds.length === 0) return
      putBack()
      if (target.listenerCount(signal) > 0) target.emit(signal, signal)
      else target.kill(target.pid, signal)
    }
    if (isSecond) leave()
    else finish().then(leave, leave)
  }

  return putBack
}

/** @returns gives the signal back to those who listened before */
function hold(signal: Signal, onSignal: (signal: Signal) => void, target: SignalledProcess): () => void {
  const others = target.rawListeners(signal) as NodeJS.SignalsListener[]
  for (const other of others) target.removeListener(signal, other)
  const listener = () => onSignal(signal)
  target.on(signal, listener)
  return () => {
    target.removeListener(signal, listener)
    for (const other of others) target.on(signal, other)
  }
}
