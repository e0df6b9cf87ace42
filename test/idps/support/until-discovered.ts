import { until } from '../../meshcentral/support/until.ts'
import type { CommandedProcess } from './commanded-process.ts'

/** Resolves once discovery answers. @throws Error with the end of the program's output, when it ends or the time is over */
export async function untilDiscovered(issuer: string, program: CommandedProcess, limitMs: number): Promise<void> {
  const address = `${issuer}/.well-known/openid-configuration`
  const isThere = async () => {
    if (!program.isUp()) throw new Error('the provider ended at its start')
    const answer = await fetch(address, { signal: AbortSignal.timeout(limitMs) }).catch(() => undefined)
    await answer?.body?.cancel()
    return answer?.status === 200
  }
  try {
    await until(`discovery at ${issuer}`, isThere, limitMs)
  } catch (cause) {
    throw new Error(`${cause instanceof Error ? cause.message : String(cause)}\n${program.output()}`)
  }
}
