import { type AddressInfo, connect, createServer } from 'node:net'

/** One address for several servers, as rotate.aprs2.net is: each connection goes to the next of `ports`, the last one for ever. */
export interface RotatingFront {
  readonly port: number
  close(): Promise<void>
}

export async function startRotatingFront(ports: readonly number[]): Promise<RotatingFront> {
  let accepted = 0
  const open = new Set<{ destroy(): void }>()
  const front = createServer({ allowHalfOpen: true }, (near) => {
    const port = ports[Math.min(accepted, ports.length - 1)] ?? 0
    accepted += 1
    const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one)
      one.pipe(other)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        open.delete(one)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => void front.listen(0, '127.0.0.1', resolve))
  return {
    port: (front.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        front.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}
