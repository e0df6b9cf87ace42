const SIGNALS = ['SIGTERM', 'SIGINT'] as const
type Signal = (typeof SIGNALS)[number]

/** The members of Node's `process` that this file uses. */
export type SignalledProcess = Pick<
  NodeJS.Process,
  'on' | 'removeListener' | 'rawListeners' | 'listenerCount' | 'emit' | 'kill' | 'pid'
>

/**
 * Lets a process finish its work before SIGTERM or SIGINT ends it. MeshCentral alone ends at once.
 *
 * Suspends the existing listeners. The first signal calls `finish`. Once that settles, or at a second signal, they are
 * restored and get the signal.
 *
 * @param finish must settle before service managers kill the process
 * @returns a function that restores the listeners
 */
export function finishBeforeStop(finish: () => Promise<unknown>, target: SignalledProcess = process): () => void {
  const holds = SIGNALS.map((signal) => hold(signal, onSignal, target))
  let stopping = false

  function restore(): void {
    for (const release of holds.splice(0)) release()
  }

  function onSignal(signal: Signal): void {
    const isSecond = stopping
    stopping = true
    const passOn = () => {
      if (holds.length === 0) return
      restore()
      if (target.listenerCount(signal) > 0) target.emit(signal, signal)
      else target.kill(target.pid, signal)
    }
    if (isSecond) passOn()
    else finish().then(passOn, passOn)
  }

  return restore
}

/**
 * Replaces all listeners of a signal with `onSignal`.
 *
 * @returns a function that restores the listeners
 */
function hold(signal: Signal, onSignal: (signal: Signal) => void, target: SignalledProcess): () => void {
  const suspended = target.rawListeners(signal) as NodeJS.SignalsListener[]
  for (const listener of suspended) target.removeListener(signal, listener)
  const listener = () => onSignal(signal)
  target.on(signal, listener)
  return () => {
    target.removeListener(signal, listener)
    for (const previous of suspended) target.on(signal, previous)
  }
}
