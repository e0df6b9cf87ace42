import { Agent, request } from 'node:https'

/** A client on an address of its own. */
export interface Caller {
  /** @returns the status; the code of the error where there was no answer */
  call(path: string, body: object, headers?: Readonly<Record<string, string>>): Promise<number | string>
  close(): void
}

/** @param address on loopback, where all of 127.0.0.0/8 is this machine */
export function callerAt(address: string, port: number): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: 4, localAddress: address, rejectUnauthorized: false })
  return {
    call: (path, body, headers = {}) =>
      new Promise((resolve) => {
        const options = { agent, method: 'POST', headers: { 'Content-Type': 'application/json', ...headers } }
        const calling = request(`https://localhost:${port}${path}`, { ...options, family: 4 }, (answer) => {
          answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
          answer.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
        })
        calling.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
        calling.end(JSON.stringify(body))
      }),
    close: () => agent.destroy(),
  }
}
